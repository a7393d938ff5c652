"""Small sets of pictures that a model learns in seconds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

SIDE = 96


def draw(kind: str, seed: int) -> Image.Image:
    """A disc, a square or a cross of any colour and place on a noisy ground."""
    random = np.random.default_rng([seed, sum(kind.encode())])
    ground = random.integers(40, 160, 3)
    noise = random.normal(0, 12, (SIDE, SIDE, 3)) + ground
    picture = Image.fromarray(np.clip(noise, 0, 255).astype(np.uint8))
    pen = ImageDraw.Draw(picture)
    size = int(random.integers(26, 44))
    left, top = (int(random.integers(4, SIDE - size - 4)) for _ in range(2))
    colour = tuple(int(value) for value in random.integers(150, 255, 3))
    box = (left, top, left + size, top + size)
    if kind == "disc":
        pen.ellipse(box, fill=colour)
    elif kind == "square":
        pen.rectangle(box, fill=colour)
    else:
        pen.line((left, top, left + size, top + size), fill=colour, width=7)
        pen.line((left + size, top, left, top + size), fill=colour, width=7)
    return picture.filter(ImageFilter.GaussianBlur(float(random.uniform(0, 0.8))))


def write(
    folder: Path, count: int, *, first: int = 0, kinds: tuple[str, ...] = ("disc", "square")
) -> Path:
    """`count` pictures a kind in a folder a class. Returns the folder."""
    for kind in kinds:
        (folder / kind).mkdir(parents=True, exist_ok=True)
        for number in range(first, first + count):
            draw(kind, number).save(folder / kind / f"{kind}-{number:04}.jpg", quality=90)
    return folder
