"""Drawn photos of shop shelves: products of five kinds, each with its box."""

from __future__ import annotations

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

from examples import photo, scene
from examples.photo import Colour, uniform
from examples.products import KINDS, brand, cut_out
from examples.scene import Layer, Scene

CLASSES = KINDS
LABELS = ("scenes",)

_SHEET = (880, 670)
_MOST = 25
_FEWEST = 5
_STEEL: tuple[Colour, ...] = ((206, 208, 210), (150, 152, 156), (74, 76, 80), (168, 128, 88))


def _wall(rng: np.random.Generator) -> Image.Image:
    """What is seen between the products: the shelf's back, plain, ribbed or with holes."""
    tone = photo.jitter(
        rng, [(188, 186, 180), (120, 122, 126), (66, 66, 70), (150, 122, 90)][rng.integers(4)], 18
    )
    noise = photo.smooth_noise(rng, _SHEET, (10, 8))
    wall = photo.colour_map(noise, photo.shade(tone, 0.72), photo.shade(tone, 1.0))
    pen = ImageDraw.Draw(wall)
    dark = photo.shade(tone, uniform(rng, 0.45, 0.7))
    kind = rng.integers(3)
    if kind == 0:
        for x in range(int(rng.integers(0, 45)), _SHEET[0], int(rng.integers(45, 120))):
            pen.line((x, 0, x, _SHEET[1]), fill=dark, width=2)
    elif kind == 1:
        step = int(rng.integers(27, 45))
        for x in range(step // 2, _SHEET[0], step):
            for y in range(step // 2, _SHEET[1], step):
                pen.ellipse((x - 3, y - 3, x + 3, y + 3), fill=dark)
    return wall


def _shade_under(wall: Image.Image, top: float, room: float, strength: float) -> None:
    """Darken the wall below a shelf, most at its top."""
    fall = np.linspace(strength, 0.15 * strength, max(1, round(room)))[:, None]
    mask = Image.fromarray(np.broadcast_to(fall * 255, (fall.size, _SHEET[0])).astype(np.uint8))
    wall.paste((6, 6, 9), (0, round(top)), mask)


def _soft(size: tuple[int, int], strength: float) -> Image.Image:
    """A soft dark patch, mode RGBA."""
    mask = Image.new("L", size, 0)
    edge = min(size) // 4
    ImageDraw.Draw(mask).rectangle(
        (edge, edge, size[0] - edge, size[1] - edge), fill=round(255 * strength)
    )
    patch = Image.new("RGBA", size, (5, 5, 8, 0))
    patch.putalpha(mask.filter(ImageFilter.BoxBlur(edge / 2)))
    return patch


def _stand(
    rng: np.random.Generator, left: float, floor: float, room: float, kind: str
) -> tuple[list[Layer], float]:
    """A group of one brand side by side; returns its layers and where it ends."""
    product = brand(rng, kind, room)
    layers = []
    close = uniform(rng, -0.22, 0.12)
    for _ in range(int(rng.integers(1, 5))):
        lean = uniform(rng, -9, 9) if rng.random() < 0.3 else 0.0
        piece = cut_out(rng, product, lean)
        if rng.random() < 0.12:
            left += product.width * uniform(rng, 0.5, 1.3)
        top = round(floor - piece.height + uniform(rng, -4, 6))
        reach = (round(piece.width * 1.3), round(piece.height * 1.05))
        shadow = _soft(reach, uniform(rng, 0.2, 0.45))
        layers.append(Layer(piece, (round(left), top), kind, shadow))
        left += product.width * (1 + close + uniform(rng, -0.03, 0.05))
    return (layers if rng.random() < 0.6 else layers[::-1]), left


def _lip(rng: np.random.Generator, tall: int, metal: Colour) -> Image.Image:
    """A shelf's front edge with price tags, mode RGBA."""
    lip = Image.new("RGB", (_SHEET[0], tall), metal)
    pen = ImageDraw.Draw(lip)
    pen.rectangle((0, 0, _SHEET[0], 3), fill=photo.mix(metal, (255, 255, 255), 0.5))
    pen.rectangle((0, tall - 4, _SHEET[0], tall), fill=photo.shade(metal, 0.5))
    x = int(rng.integers(0, 60))
    while x < _SHEET[0]:
        wide = int(rng.integers(33, 57))
        paper = (246, 244, 236) if rng.random() < 0.75 else (250, 214, 50)
        pen.rectangle((x, 4, x + wide, tall - 5), fill=paper)
        pen.line((x + 5, tall * 0.35, x + wide * 0.6, tall * 0.35), fill=(90, 90, 90), width=1)
        pen.line((x + 5, tall * 0.62, x + wide * 0.5, tall * 0.62), fill=(30, 30, 30), width=4)
        x += wide + int(rng.integers(15, 130))
    return lip.convert("RGBA")


def _sign(rng: np.random.Generator) -> Image.Image:
    """A round or square sign that hangs in front of the products, mode RGBA."""
    reach = int(rng.integers(34, 54))
    sign = Image.new("RGBA", (reach, reach), (0, 0, 0, 0))
    pen = ImageDraw.Draw(sign)
    colour = photo.jitter(rng, [(222, 30, 34), (250, 208, 30), (36, 120, 60)][rng.integers(3)], 14)
    if rng.random() < 0.5:
        pen.ellipse((0, 0, reach - 1, reach - 1), fill=(*colour, 255))
    else:
        pen.rectangle((0, 0, reach - 1, reach - 1), fill=(*colour, 255))
    pen.line((reach * 0.25, reach * 0.7, reach * 0.75, reach * 0.3), fill=(250, 250, 250), width=4)
    for share in (0.32, 0.68):
        x, y, ring = share * reach, share * reach, 0.1 * reach
        pen.ellipse((x - ring, y - ring, x + ring, y + ring), outline=(250, 250, 250), width=3)
    return sign


def _row(rng: np.random.Generator, floor: float, room: float, full: float) -> list[Layer]:
    """What stands on one shelf, with gaps where something is sold out."""
    layers: list[Layer] = []
    left = uniform(rng, -45, 45)
    while left < _SHEET[0]:
        if rng.random() > full:
            left += uniform(rng, 70, 200)
            continue
        group, left = _stand(rng, left, floor, room, KINDS[rng.integers(len(KINDS))])
        layers += group
        left += uniform(rng, 3, 38)
    return layers


def _thinned(rng: np.random.Generator, layers: list[Layer], most: int) -> list[Layer]:
    """The layers with so many objects taken out that `most` of them stay."""
    places = [place for place, layer in enumerate(layers) if layer.name]
    out = set(rng.permutation(places)[: max(0, len(places) - most)].tolist())
    return [layer for place, layer in enumerate(layers) if place not in out]


def draw(rng: np.random.Generator, size: tuple[int, int] = (640, 480)) -> Scene:
    """One photo-like picture of a shelf with 5 to 25 products, whose names are of `CLASSES`.

    Args:
        rng: the source of chance; the same state gives the same picture.
        size: width and height in pixels.
    """
    while True:
        found = _attempt(rng, size)
        if _FEWEST <= len(found.names) <= _MOST:
            return scene.exposed(rng, found, blur=0.9)


def _attempt(rng: np.random.Generator, size: tuple[int, int]) -> Scene:
    wall = _wall(rng)
    rows = int(rng.integers(2, 5))
    full = uniform(rng, 0.6, 0.97)
    pitch = _SHEET[1] / rows
    lip = round(uniform(rng, 20, 30))
    shift = uniform(rng, -0.25, 0.25) * pitch
    metal = photo.jitter(rng, _STEEL[rng.integers(len(_STEEL))], 12)
    strength = uniform(rng, 0.1, 0.55)
    products: list[Layer] = []
    fronts: list[Layer] = []
    for row in range(-1, rows + 1):
        floor = shift + (row + 1) * pitch - lip
        if not 0.1 * pitch < floor < _SHEET[1] + 0.8 * pitch:
            continue
        _shade_under(wall, floor - pitch + 2 * lip, pitch - lip, strength)
        products += _row(rng, floor + uniform(rng, 0, 0.02) * pitch, pitch - lip, full)
        fronts.append(Layer(_lip(rng, lip, metal), (0, round(floor))))
        if rng.random() < 0.4:
            fronts.append(Layer(_sign(rng), (int(rng.integers(_SHEET[0])), round(floor - 38))))
    view = scene.view(rng, _SHEET, uniform(rng, 0.7, 0.85), 2.5, 0.12, size)
    return scene.look(wall, [*_thinned(rng, products, 32), *fronts], view, size)
