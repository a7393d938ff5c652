"""Samples of a recording → the model's input, by an ordered list out of a closed set of operations.

The list is JSON, travels in a bundle and is meant to be followed in any language. Its form is:
one `resample`, one `window`, and at most one `log_mel`. For example

    [{"operation": "resample", "rate": 16000, "kernel": "cosine"},
     {"operation": "window", "samples": 32000, "hop": 16000, "count": 0, "fill": "loop"},
     {"operation": "log_mel", "fft": 1024, "hop": 200, "bands": 128, "low": 50.0, "high": 7800.0,
      "range": 80.0, "layout": "CHW"}]

**resample** changes the rate of the mono recording as `orchard.decode.resample` says (`kernel`
"cosine"). Decoding gives 16,000 samples a second already, and a recording that has the rate is left
as it is.

**window** makes (m,) float32 into (R, n) float32 with n = `samples`. All divisions are of integers,
rounded down.

- m < n: the recording is filled up to n. `fill` "loop": sample i is sample i mod m of the
  recording. "zeros": the recording begins at (n − m) // 2, all else is 0. Then R = max(1, `count`)
  equal rows.
- m ≥ n, `count` = 0: windows begin at 0, h, 2h, … (h = `hop`) as long as they end within the
  recording; where the last one ends before the recording's end, one more begins at m − n.
- m ≥ n, `count` = 1: one window, begun at (m − n) // 2. `count` = c > 1: window i of 0 … c − 1
  begins at i·(m − n) // (c − 1).

**log_mel** makes (R, n) into a picture a window, (R, 3, `bands`, T) float32 with T = n // `hop`,
three equal planes, the lowest band in the first row. Frame t holds the N = `fft` samples from
t·hop + (hop − N) // 2 (rounded down) on, those outside of the window being 0, each times
0.5 − 0.5·cos(2πi/N), i = 0 … N − 1. P is the squared magnitude of its discrete Fourier transform at
the bins 0 … N/2, f = bin·rate/N. Bands are triangles (O'Shaughnessy's mel scale,
mel(f) = 2595·log10(1 + f/700)): `bands` + 2 corners lie evenly in mel from `low` to `high`; band b
weighs a bin with max(0, min((f − c_b)/(c_{b+1} − c_b), (c_{b+2} − f)/(c_{b+2} − c_{b+1}))), divided
by the sum of its weights (where that is 0, the bin nearest to c_{b+1} counts alone). With
E = 10·log10(max(1e-10, Σ weight·P)) and M the largest E of the window, the value is
max(E − M, −`range`)·2/`range` + 1, between −1 and 1. Computed in doubles, rounded to float32 once.
"""

from __future__ import annotations

from orchard.preprocess.sound.mel import hann, log_mel, mel_picture, mel_weights
from orchard.preprocess.sound.operations import (
    FILLS,
    Operation,
    mel_operation,
    rate_of,
    standard,
    validate,
    window_of,
)
from orchard.preprocess.sound.transform import apply, spans

__all__ = [
    "FILLS",
    "Operation",
    "apply",
    "hann",
    "log_mel",
    "mel_operation",
    "mel_picture",
    "mel_weights",
    "rate_of",
    "spans",
    "standard",
    "validate",
    "window_of",
]
