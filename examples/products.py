"""Products of a shop as cut-out pictures: boxes, bottles, cans, bags and jars of many brands.

A cut-out is a picture in mode RGBA that ends where the product ends.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageChops, ImageDraw

from examples import photo
from examples.goods import package_colour
from examples.package import label_of
from examples.photo import Colour, uniform

KINDS = ("bag", "bottle", "box", "can", "jar")

_FINER = 2
_WHITE: Colour = (250, 250, 248)
_CONTENTS: tuple[Colour, ...] = (
    (150, 22, 30),
    (206, 128, 22),
    (92, 120, 40),
    (226, 214, 180),
    (70, 34, 22),
    (214, 84, 30),
)
_GLASS: tuple[Colour, ...] = ((92, 52, 22), (36, 84, 48), (170, 186, 184), (210, 190, 120))
_METAL: tuple[Colour, ...] = ((196, 200, 204), (202, 170, 90), (235, 235, 232), (40, 42, 46))


@dataclass(frozen=True)
class Brand:
    """How one product looks.

    Attributes:
        kind: one of `KINDS`.
        width: in pixels of the sheet.
        height: in pixels of the sheet.
        label: the print, mode RGB, for a round product the whole way around.
        body: what is seen beside the label.
        lid: the colour of cap, lid or rim.
        form: three numbers of 0 to 1 that shape the outline.
    """

    kind: str
    width: int
    height: int
    label: Image.Image
    body: Colour
    lid: Colour
    form: tuple[float, float, float]


_SIZES: dict[str, tuple[tuple[float, float], tuple[float, float]]] = {
    "bag": ((0.62, 0.92), (0.66, 0.86)),
    "bottle": ((0.27, 0.4), (0.84, 0.96)),
    "box": ((0.42, 0.85), (0.6, 0.94)),
    "can": ((0.5, 0.66), (0.46, 0.66)),
    "jar": ((0.68, 0.92), (0.44, 0.62)),
}
"""Width as a share of the height, and height as a share of the room between two shelves."""


def brand(rng: np.random.Generator, kind: str, room: float) -> Brand:
    """A new brand of a kind, at most `room` pixels high."""
    (slim, wide), (low, high) = _SIZES[kind]
    height = room * uniform(rng, low, high)
    width = height * uniform(rng, slim, wide)
    ground = photo.mix(package_colour(rng), _WHITE, uniform(rng, 0, 0.4))
    body = ground
    share = 1.0
    if kind == "jar":
        body, share = photo.jitter(rng, _CONTENTS[rng.integers(len(_CONTENTS))], 14), 0.5
    elif kind == "bottle":
        share = uniform(rng, 0.28, 0.42)
        if rng.random() < 0.6:
            body = photo.jitter(rng, _GLASS[rng.integers(len(_GLASS))], 16)
        else:
            body = package_colour(rng)
    around = 1 if kind in ("bag", "box") else 2
    size = (round(_FINER * width * around), round(_FINER * height * share))
    metal = photo.jitter(rng, _METAL[rng.integers(len(_METAL))], 8)
    return Brand(
        kind=kind,
        width=round(width),
        height=round(height),
        label=label_of(rng, size, ground),
        body=body,
        lid=metal if kind == "can" or rng.random() < 0.5 else package_colour(rng),
        form=(float(rng.random()), float(rng.random()), float(rng.random())),
    )


def _turned(rng: np.random.Generator, label: Image.Image, width: int) -> Image.Image:
    """The part of a label around a cylinder that is seen, about its middle."""
    room = label.width - width
    left = round(room * float(np.clip(rng.normal(0.5, 0.12), 0, 1)))
    return label.crop((left, 0, left + width, label.height))


def _round(picture: Image.Image, mask: Image.Image, gloss: float) -> Image.Image:
    """Light a turned body from the front: dark towards its sides, with a bright streak."""
    inside = np.asarray(mask) > 0
    width = inside.shape[1]
    reach = np.maximum(1.0, inside.sum(axis=1, keepdims=True) / 2)
    across = (np.arange(width) - (width - 1) / 2) / reach
    steps = np.linspace(-1, 1, 256, dtype=np.float32)
    streak = gloss * np.exp(-(((steps + 0.42) / 0.13) ** 2))
    light = (0.5 + 0.5 * np.sqrt(1 - steps * steps)) * (1 - streak)
    place = np.clip(across * 127.5 + 127.5, 0, 255).astype(np.uint8)
    dark, bright = (
        Image.fromarray((part * 255).astype(np.uint8)[place]) for part in (light, streak)
    )
    lit = ImageChops.multiply(picture, Image.merge("RGB", [dark] * 3))
    return ImageChops.add(lit, Image.merge("RGB", [bright] * 3))


def _cut(picture: Image.Image, mask: Image.Image) -> Image.Image:
    picture.putalpha(mask)
    return picture


def _bottle(rng: np.random.Generator, brand: Brand, width: int, height: int) -> Image.Image:
    shoulder, neck, cap = (
        (0.3 + 0.16 * brand.form[0]) * height,
        (0.17 + 0.12 * brand.form[1]) * width,
        (0.06 + 0.06 * brand.form[2]) * height,
    )
    middle = width / 2
    mask = Image.new("L", (width, height), 0)
    pen = ImageDraw.Draw(mask)
    pen.rounded_rectangle((0, shoulder, width - 1, height - 1), width * 0.12, fill=255)
    slope = [(1.0, shoulder + 0.07 * height), (0.97, shoulder), (0.8, shoulder - 0.05 * height)]
    outline = [(middle * share, y) for share, y in slope]
    outline += [(neck, 0.6 * shoulder), (neck, cap)]
    pen.polygon(
        [(middle - x, y) for x, y in outline] + [(middle + x, y) for x, y in reversed(outline)],
        fill=255,
    )
    cap_half = neck * 1.15
    pen.rectangle((middle - cap_half, 0, middle + cap_half, cap), fill=255)
    picture = Image.new("RGB", (width, height), brand.body)
    pen = ImageDraw.Draw(picture)
    pen.rectangle((0, 0, width, cap), fill=brand.lid)
    pen.line((0, cap + 1, width, cap + 1), fill=photo.shade(brand.lid, 0.5), width=2)
    top = round(shoulder + (0.12 + 0.2 * brand.form[1]) * (height - shoulder - brand.label.height))
    picture.paste(_turned(rng, brand.label, width), (0, top))
    return _cut(_round(picture, mask, uniform(rng, 0.15, 0.5)), mask)


def _can(rng: np.random.Generator, brand: Brand, width: int, height: int) -> Image.Image:
    rim = round((0.04 + 0.03 * brand.form[0]) * height)
    mask = Image.new("L", (width, height), 0)
    pen = ImageDraw.Draw(mask)
    inset = round(width * 0.05 * brand.form[1])
    pen.rectangle((0, 2 * rim, width - 1, height - 1 - 2 * rim), fill=255)
    pen.rounded_rectangle((inset, 0, width - 1 - inset, height - 1), rim, fill=255)
    picture = Image.new("RGB", (width, height), brand.lid)
    label = _turned(rng, brand.label, width).resize((width, height - 4 * rim))
    picture.paste(label, (0, 2 * rim))
    pen = ImageDraw.Draw(picture)
    for y in (2 * rim, height - 2 * rim):
        pen.line((0, y, width, y), fill=photo.shade(brand.lid, 0.55), width=2)
    picture = _round(picture, mask, uniform(rng, 0.2, 0.5))
    top = ImageDraw.Draw(picture)
    top.ellipse((inset, -rim, width - 1 - inset, rim), fill=photo.shade(brand.lid, 0.62))
    return _cut(picture, mask)


def _jar(rng: np.random.Generator, brand: Brand, width: int, height: int) -> Image.Image:
    lid = round((0.15 + 0.07 * brand.form[0]) * height)
    inset = round((0.02 + 0.07 * brand.form[1]) * width)
    mask = Image.new("L", (width, height), 0)
    pen = ImageDraw.Draw(mask)
    pen.rounded_rectangle(
        (0, lid, width - 1, height - 1), (0.08 + 0.16 * brand.form[2]) * width, fill=255
    )
    pen.rounded_rectangle((inset, 0, width - 1 - inset, lid + 6), 6, fill=255)
    picture = Image.new("RGB", (width, height), brand.body)
    grain = photo.smooth_noise(rng, (width, height), (9, 9))[..., None]
    pixels = np.asarray(picture, dtype=np.float32) * (1 + 0.25 * grain)
    picture = Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8))
    room = height - lid - brand.label.height
    picture.paste(_turned(rng, brand.label, width), (0, round(lid + 0.55 * room)))
    pen = ImageDraw.Draw(picture)
    pen.rectangle((0, 0, width, lid), fill=brand.lid)
    for x in range(0, width, 7):
        pen.line((x, 4, x, lid), fill=photo.shade(brand.lid, 0.85), width=2)
    pen.rectangle((0, lid, width, lid + 4), fill=photo.shade(brand.lid, 0.5))
    return _cut(_round(picture, mask, uniform(rng, 0.25, 0.55)), mask)


def _box(rng: np.random.Generator, brand: Brand, width: int, height: int) -> Image.Image:
    side = round(width * max(0.0, uniform(rng, -0.1, 0.2)))
    front = brand.label.resize((width - side, height))
    picture = Image.new("RGB", (width, height), photo.shade(brand.body, 0.55))
    left = side if brand.form[0] < 0.5 else 0
    picture.paste(front, (left, 0))
    pen = ImageDraw.Draw(picture)
    pen.rectangle((left, 0, left + width - side - 1, height - 1), outline=(90, 90, 90), width=2)
    pen.line(
        (left + 2, 3, left + width - side, 3), fill=photo.mix(brand.body, _WHITE, 0.6), width=3
    )
    mask = Image.new("L", (width, height), 255)
    if side:
        drop = side * 0.5
        cut = ImageDraw.Draw(mask)
        edge, inner = (0, side) if left else (width, width - side)
        cut.polygon([(edge, 0), (inner, 0), (edge, drop)], fill=0)
        cut.polygon([(edge, height), (inner, height), (edge, height - 0.6 * drop)], fill=0)
    return _cut(picture, mask)


def _crimp(width: int, teeth: int, y: float, depth: float) -> list[tuple[float, float]]:
    places = np.linspace(0, 1, 2 * teeth + 1)
    return [(float(s) * (width - 1), y + depth * (n % 2)) for n, s in enumerate(places)]


def _bag(rng: np.random.Generator, brand: Brand, width: int, height: int) -> Image.Image:
    teeth = 7 + round(7 * brand.form[0])
    seal = (0.05 + 0.04 * brand.form[1]) * height
    waist = (0.07 + 0.05 * brand.form[2]) * width
    mask = Image.new("L", (width, height), 0)
    pen = ImageDraw.Draw(mask)
    down = np.linspace(0.02, 0.98, 15)
    bulge = waist * np.cos(np.pi * down) ** 2 + rng.uniform(0, 0.015, size=15) * width
    left = [(float(b), float(s) * height) for b, s in zip(bulge, down, strict=True)]
    right = [
        (width - 1 - float(b), float(s) * height) for b, s in zip(bulge[::-1], down, strict=True)
    ]
    top, bottom = (
        _crimp(width, teeth, 0, 0.03 * height),
        _crimp(width, teeth, height - 1, -0.03 * height),
    )
    pen.polygon([*top, *right, *reversed(bottom), *reversed(left)], fill=255)
    picture = brand.label.resize((width, height))
    folds, gloss = _folds(rng, width, height)
    picture = ImageChops.add(ImageChops.multiply(picture, folds), gloss)
    draw = ImageDraw.Draw(picture)
    foil = photo.mix(brand.body, brand.lid, 0.6)
    for start in (0.0, height - seal):
        draw.rectangle((0, start, width, start + seal), fill=foil)
        for x in range(0, width, 6):
            draw.line((x, start, x, start + seal), fill=photo.shade(foil, 0.75), width=2)
    return _cut(picture, mask)


def _folds(rng: np.random.Generator, width: int, height: int) -> tuple[Image.Image, Image.Image]:
    """The light on a stuffed bag, to multiply, and the gloss of its foil, to add; mode RGB."""
    coarse = (max(2, width // 4), max(2, height // 4))
    x, y = np.meshgrid(np.linspace(-1, 1, coarse[0]), np.linspace(-1, 1, coarse[1]))
    creases = photo.smooth_noise(rng, coarse, (4, 6))
    light = 0.94 - 0.42 * np.abs(x) ** 3 - 0.3 * np.abs(y) ** 5 + 0.22 * creases
    folds, gloss = (
        Image.fromarray(np.clip(part * 255, 0, 255).astype(np.uint8)).resize((width, height))
        for part in (light, 0.9 * np.clip(creases - 0.45, 0, 1))
    )
    return Image.merge("RGB", [folds] * 3), Image.merge("RGB", [gloss] * 3)


_Maker = Callable[[np.random.Generator, Brand, int, int], Image.Image]
_MAKERS: dict[str, _Maker] = {
    "bag": _bag,
    "bottle": _bottle,
    "box": _box,
    "can": _can,
    "jar": _jar,
}


def cut_out(rng: np.random.Generator, brand: Brand, lean: float) -> Image.Image:
    """One piece of a brand, leaning to a side by some degrees, mode RGBA."""
    picture = _MAKERS[brand.kind](rng, brand, _FINER * brand.width, _FINER * brand.height)
    picture = picture.reduce(_FINER)
    if lean:
        picture = picture.rotate(lean, Image.Resampling.BILINEAR, expand=True)
    bounds = picture.getchannel("A").point([0] * 128 + [255] * 128).getbbox()
    return picture.crop(bounds)
