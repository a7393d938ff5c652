"""Made-up recordings of a motor with a belt: well, with a bad bearing, or with a loose belt.

A motor hums at its speed and its harmonics, drives a fan or gear whose tone wavers, and stands in
one of several rooms with noise of its own. What is wrong is heard above all in time: a bad bearing
rings, a short high ringing each time a ball meets the flaw, somewhat irregularly; a loose belt
flaps, a dull slap once or twice a turn of the belt, and slips, so that the hum wavers. Loudness,
speed, room, microphone and noise are drawn alike for all classes, and a recording's level is set
after everything was added, so that how loud it is says nothing.
"""

from __future__ import annotations

import io
import struct

import numpy as np
from numpy.typing import NDArray

from examples.photo import uniform

LABELS = ("good", "bad_bearing", "loose_belt")
RATE = 16_000
SECONDS = (2.0, 3.0)

Sound = NDArray[np.float64]


def record(rng: np.random.Generator, label: str) -> NDArray[np.int16]:
    """One recording of a machine.

    Args:
        rng: the source of chance; the same state gives the same recording.
        label: one of `LABELS`.

    Returns:
        (n,) samples at `RATE`, 2 to 3 seconds.
    """
    fault = rng.spawn(1)[0]
    count = int(uniform(rng, *SECONDS) * RATE)
    turns = uniform(rng, 14.0, 38.0)
    motor = _motor(rng, fault, count, turns, slips=label == "loose_belt")
    sound = motor + uniform(rng, 0.2, 0.7) * _fan(rng, count, turns)
    if label == "bad_bearing":
        sound = sound + uniform(fault, 0.8, 1.8) * _bearing(fault, count, turns)
    elif label == "loose_belt":
        sound = sound + uniform(fault, 0.9, 2.0) * _belt(fault, count, turns)
    sound = sound / _level(sound)
    sound = sound + _room(rng, count) * 10 ** (-uniform(rng, 4.0, 18.0) / 20)
    sound = _microphone(rng, sound)
    level = 10 ** (-uniform(rng, 16.0, 36.0) / 20)
    loudest = np.abs(sound).max()
    # What is too loud is turned down as a whole, not clipped.
    gain = min(level / _level(sound), 0.95 / loudest)
    return (gain * sound * 32767).round().astype(np.int16)


def files(rng: np.random.Generator, label: str, size: tuple[int, int]) -> dict[str, bytes]:
    """The bytes of a sample's files by their ending, as `examples.sets` asks for them; a recording
    has no size in pixels."""
    return {".wav": wav(record(rng, label))}


def wav(samples: NDArray[np.int16]) -> bytes:
    """A WAV file of one channel and 16 bits."""
    data = samples.astype("<i2").tobytes()
    head = struct.pack("<4sI8sIHHIIHH4sI", b"RIFF", 36 + len(data), b"WAVEfmt ", 16, 1, 1, RATE,
                       2 * RATE, 2, 16, b"data", len(data))  # fmt: skip
    buffer = io.BytesIO()
    buffer.write(head)
    buffer.write(data)
    return buffer.getvalue()


def _level(sound: Sound) -> float:
    return float(np.sqrt(np.mean(np.square(sound)))) + 1e-9


def _wander(rng: np.random.Generator, count: int, hertz: float) -> Sound:
    """A slow random line of about variance 1 that changes some times a second."""
    knots = max(4, int(count / RATE * hertz) + 3)
    places = np.linspace(0, count - 1, knots)
    return np.interp(np.arange(count), places, rng.standard_normal(knots))


def _motor(
    rng: np.random.Generator, fault: np.random.Generator, count: int, turns: float, *, slips: bool
) -> Sound:
    """Hum at the turns and at the mains, with harmonics."""
    wander = 0.004 * _wander(rng, count, 2.0)
    if slips:
        wander = wander + uniform(fault, 0.01, 0.03) * _wander(fault, count, 7.0)
    phase = 2 * np.pi * np.cumsum(turns * (1 + wander)) / RATE
    sound = np.zeros(count)
    for harmonic in range(1, 25):
        strength = uniform(rng, 0.2, 1.0) / harmonic ** uniform(rng, 0.5, 0.9)
        sound += strength * np.sin(harmonic * phase + uniform(rng, 0, 6.28))
    mains = 2 * np.pi * 100 * np.arange(count) / RATE
    for harmonic in range(1, 6):
        sound += (
            uniform(rng, 0.0, 0.5) / harmonic * np.sin(harmonic * mains + uniform(rng, 0, 6.28))
        )
    return sound / _level(sound)


def _fan(rng: np.random.Generator, count: int, turns: float) -> Sound:
    """Air: noise that swells with the blades."""
    blades = int(rng.integers(3, 8))
    swell = 1 + uniform(rng, 0.1, 0.5) * np.sin(
        2 * np.pi * blades * turns * np.arange(count) / RATE + uniform(rng, 0, 6.28)
    )
    air = _coloured(rng, count, uniform(rng, 300, 1500), uniform(rng, 2500, 6000))
    return air * swell / _level(air)


def _bearing(rng: np.random.Generator, count: int, turns: float) -> Sound:
    """A ringing each time that a ball meets the flaw."""
    each = RATE / (turns * uniform(rng, 2.4, 5.4))
    pitch = uniform(rng, 1800, 5200)
    fade = uniform(rng, 0.002, 0.006) * RATE
    time = np.arange(int(6 * fade))
    ring = np.exp(-time / fade) * np.sin(2 * np.pi * pitch * time / RATE)
    load = 1 + uniform(rng, 0.2, 0.6) * np.sin(
        2 * np.pi * turns * np.arange(count) / RATE + uniform(rng, 0, 6.28)
    )
    return _struck(rng, count, each, 0.04, ring) * load


def _belt(rng: np.random.Generator, count: int, turns: float) -> Sound:
    """A dull slap once a turn of the belt, which is longer than the pulley is round."""
    each = RATE / (turns / uniform(rng, 2.2, 4.5))
    fade = uniform(rng, 0.012, 0.03) * RATE
    time = np.arange(int(5 * fade))
    noise = np.convolve(rng.standard_normal(len(time) + 15), np.hanning(16), "valid")
    dull = np.sin(2 * np.pi * uniform(rng, 90, 260) * time / RATE)
    slap = np.exp(-time / fade) * (dull + 0.25 * noise[: len(time)])
    return _struck(rng, count, each, 0.12, slap)


def _struck(
    rng: np.random.Generator, count: int, each: float, spread: float, stroke: Sound
) -> Sound:
    """A stroke every `each` samples, up to a share of `spread` too early or late, set to level 1."""
    sound = np.zeros(count + len(stroke))
    place = uniform(rng, 0, each)
    while place < count:
        start = int(place)
        sound[start : start + len(stroke)] += uniform(rng, 0.6, 1.0) * stroke
        place += each * (1 + spread * uniform(rng, -1, 1))
    return sound[:count] / _level(sound[:count])


def _room(rng: np.random.Generator, count: int) -> Sound:
    """Noise of the place, at level 1: a hall, a street, people's clatter, a hissing pipe."""
    kind = int(rng.integers(4))
    if kind == 0:
        sound = _coloured(rng, count, 30, uniform(rng, 300, 900))
    elif kind == 1:
        swell = np.exp(0.7 * _wander(rng, count, 1.0))
        sound = _coloured(rng, count, 60, uniform(rng, 1000, 2500)) * swell
    elif kind == 2:
        sound = 0.3 * _coloured(rng, count, 100, 4000)
        for _ in range(int(rng.integers(2, 9))):
            sound += _clatter(rng, count)
    else:
        sound = _coloured(rng, count, uniform(rng, 1500, 3500), 7500)
    return sound / _level(sound)


def _clatter(rng: np.random.Generator, count: int) -> Sound:
    """One single knock, high or dull, such as both faults have in a row: one alone means nothing."""
    fade = uniform(rng, 0.003, 0.03) * RATE
    start = int(rng.integers(count))
    time = np.arange(count - start)
    sound = np.zeros(count)
    pitch = np.exp(uniform(rng, np.log(120), np.log(5000)))
    sound[start:] = np.exp(-time / fade) * np.sin(2 * np.pi * pitch * time / RATE)
    return uniform(rng, 1.0, 4.0) * sound


def _coloured(rng: np.random.Generator, count: int, low: float, high: float) -> Sound:
    """Noise between two frequencies, with soft edges, at level 1."""
    spectrum = np.fft.rfft(rng.standard_normal(count))
    frequencies = np.fft.rfftfreq(count, 1 / RATE)
    passed = 1 / (1 + (low / np.maximum(frequencies, 1)) ** 4)
    passed = passed / (1 + (frequencies / high) ** 4)
    sound = np.fft.irfft(spectrum * passed, count)
    return sound / _level(sound)


def _microphone(rng: np.random.Generator, sound: Sound) -> Sound:
    """A slightly different colour for each recording: what place and device do."""
    spectrum = np.fft.rfft(sound)
    frequencies = np.fft.rfftfreq(len(sound), 1 / RATE)
    octaves = np.log2(np.maximum(frequencies, 30) / 30)
    knots = np.arange(0, 10)
    decibels = np.interp(octaves, knots, uniform(rng, 0.5, 3.0) * rng.standard_normal(len(knots)))
    return np.fft.irfft(spectrum * 10 ** (decibels / 20), len(sound))
