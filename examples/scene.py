"""A flat scene of named objects, seen by a camera, with a box around what is seen of each.

The scene is painted from behind to the front, in pixels of a sheet that is larger than the
picture. The camera looks at a quadrilateral of the sheet. Beside the picture goes a map of which
object is seen at each pixel, from which the boxes derive.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from xml.etree.ElementTree import Element, SubElement, indent, tostring

import numpy as np
import numpy.typing as npt
from PIL import Image

from examples import photo

Corner = tuple[float, float]

SMALLEST = 20 / 640
"""The least width and height of a box, as a share of the picture's width."""

_LEAST_SEEN = 0.6
_OPAQUE = 128


@dataclass(frozen=True)
class Box:
    """An object's box: pixel edges from the left and the top, right and bottom excluded."""

    name: str
    left: int
    top: int
    right: int
    bottom: int


@dataclass(frozen=True)
class Layer:
    """Something painted onto the sheet, mode RGBA, its left upper corner at a place.

    With a name it is an object. Without one it is a thing that may hide objects; where it lets
    half of the light through, they count as seen. Its shadow, mode RGBA, is painted before it at
    the same place.
    """

    sprite: Image.Image
    at: tuple[int, int]
    name: str = ""
    shadow: Image.Image | None = None


@dataclass(frozen=True)
class Scene:
    """What the camera sees.

    Attributes:
        picture: mode RGB.
        names: the objects, of which each is seen somewhere.
        owners: uint8 array (height, width): 0, or one more than the place in `names` of the object
            that is seen at the pixel.
    """

    picture: Image.Image
    names: tuple[str, ...]
    owners: npt.NDArray[np.uint8]

    def boxes(self) -> tuple[Box, ...]:
        """The least box around what is seen of each object, in the order of `names`."""
        found = []
        for number, name in enumerate(self.names, start=1):
            left, top, right, bottom = _extent(self.owners == number)
            found.append(Box(name, left, top, right, bottom))
        return tuple(found)


def _extent(mask: npt.NDArray[np.bool_]) -> tuple[int, int, int, int]:
    """Left, top, right and bottom of what is true, right and bottom excluded; all 0 for nothing."""
    columns, rows = np.flatnonzero(mask.any(axis=0)), np.flatnonzero(mask.any(axis=1))
    if not columns.size:
        return 0, 0, 0, 0
    return int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1


def _solid(sprite: Image.Image) -> Image.Image:
    return sprite.getchannel("A").point([0] * _OPAQUE + [255] * (256 - _OPAQUE))


def _owners(
    sheet: tuple[int, int],
    layers: Sequence[Layer],
    coefficients: Sequence[float],
    size: tuple[int, int],
) -> npt.NDArray[np.uint8]:
    ground = Image.new("L", sheet, 0)
    number = 0
    for layer in layers:
        number += bool(layer.name)
        ground.paste(number if layer.name else 0, layer.at, _solid(layer.sprite))
    return np.array(ground.transform(size, Image.Transform.PERSPECTIVE, coefficients))


def _area(corners: Sequence[Corner]) -> float:
    pairs = zip(corners, [*corners[1:], corners[0]], strict=True)
    return abs(sum(x * v - u * y for (x, y), (u, v) in pairs)) / 2


def _hidden(layers: Sequence[Layer], owners: npt.NDArray[np.uint8], pixels: float) -> set[int]:
    """The places in `layers` of the objects of which too little is seen to name them.

    Args:
        layers: all that is on the sheet.
        owners: as in `Scene`.
        pixels: how many pixels of the sheet a pixel of the picture covers.
    """
    hidden = set()
    least = SMALLEST * owners.shape[1]
    places = [place for place, layer in enumerate(layers) if layer.name]
    for number, place in enumerate(places, start=1):
        seen = owners == number
        whole = int(np.count_nonzero(np.asarray(_solid(layers[place].sprite))))
        left, top, right, bottom = _extent(seen)
        share = int(np.count_nonzero(seen)) * pixels / max(1, whole)
        if share < _LEAST_SEEN or min(right - left, bottom - top) < least:
            hidden.add(place)
    return hidden


def look(
    sheet: Image.Image, layers: Sequence[Layer], view: Sequence[Corner], size: tuple[int, int]
) -> Scene:
    """Paint the layers onto the sheet and look at a part of it.

    An object that is hidden, cut off or small to an extent that a person could not name it is left
    out, so that nothing stands in the picture without its box.

    Args:
        sheet: the ground, mode RGB; it is painted on.
        layers: from behind to the front, at most 255 of them objects.
        view: the corners of what is seen, in the sheet's pixels: left upper, right upper, right
            lower, left lower.
        size: the picture's width and height in pixels.
    """
    corners = [(0.0, 0.0), (float(size[0]), 0.0), (float(size[0]), float(size[1]))]
    coefficients = photo.homography(view, [*corners, (0.0, float(size[1]))])
    pixels = _area(view) / (size[0] * size[1])
    while True:
        owners = _owners(sheet.size, layers, coefficients, size)
        hidden = _hidden(layers, owners, pixels)
        if not hidden:
            break
        layers = [layer for place, layer in enumerate(layers) if place not in hidden]
    for layer in layers:
        if layer.shadow is not None:
            sheet.paste(layer.shadow, layer.at, layer.shadow)
        sheet.paste(layer.sprite, layer.at, layer.sprite)
    seen = sheet.transform(
        size, Image.Transform.PERSPECTIVE, coefficients, Image.Resampling.BILINEAR
    )
    return Scene(seen, tuple(layer.name for layer in layers if layer.name), owners)


def view(
    rng: np.random.Generator,
    sheet: tuple[int, int],
    share: float,
    turn: float,
    slant: float,
    size: tuple[int, int],
) -> list[Corner]:
    """What a camera that is held by hand sees of a sheet, wholly inside of it where it fits.

    Args:
        rng: the source of chance.
        sheet: the sheet's width and height in pixels.
        share: how much of the sheet's width is seen, 0 to 1.
        turn: the standard deviation of the camera's roll in degrees.
        slant: how much one side of what is seen may be longer than the other, as a share.
        size: the picture's width and height, for the shape.
    """
    half = np.asarray((1.0, size[1] / size[0])) * sheet[0] * share / 2
    wide, tall = rng.uniform(-slant, slant, size=2) / 2
    corners = np.asarray(
        [(-1 - tall, -1 - wide), (1 + tall, -1 + wide), (1 - tall, 1 - wide), (-1 + tall, 1 + wide)]
    )
    angle = np.deg2rad(np.clip(rng.normal(0, turn), -2 * turn, 2 * turn))
    cos, sin = np.cos(angle), np.sin(angle)
    corners = (corners * half) @ np.asarray([[cos, sin], [-sin, cos]])
    reach = np.abs(corners).max(axis=0)
    room = np.maximum(0, np.asarray(sheet) / 2 - reach)
    middle = np.asarray(sheet) / 2 + room * rng.uniform(-1, 1, size=2)
    return [(float(x), float(y)) for x, y in corners + middle]


def exposed(rng: np.random.Generator, scene: Scene, blur: float = 1.0) -> Scene:
    """The scene under a camera's light, blur and noise; see `photo.expose`."""
    return replace(scene, picture=photo.expose(rng, scene.picture, blur))


def pascal_voc(size: tuple[int, int], boxes: Sequence[Box]) -> bytes:
    """The boxes of a picture as an XML document in the form of Pascal VOC.

    The document names no file: it belongs to the picture of the same name beside it. Corners are
    pixel edges counted from 0, as labelling tools write them.

    Source: "The PASCAL Visual Object Classes Challenge 2012 Development Kit", section on
    annotations.
    """
    root = Element("annotation")
    shape = SubElement(root, "size")
    for name, value in (("width", size[0]), ("height", size[1]), ("depth", 3)):
        SubElement(shape, name).text = str(value)
    for box in boxes:
        item = SubElement(root, "object")
        SubElement(item, "name").text = box.name
        edges = SubElement(item, "bndbox")
        sides = (box.left, box.top, box.right, box.bottom)
        for name, value in zip(("xmin", "ymin", "xmax", "ymax"), sides, strict=True):
            SubElement(edges, name).text = str(value)
    indent(root)
    text: bytes = tostring(root, encoding="utf-8", xml_declaration=True)
    return text + b"\n"


def files(rng: np.random.Generator, scene: Scene) -> dict[str, bytes]:
    """The scene as a JPEG picture with its boxes beside it, by the ending of the file."""
    boxes = pascal_voc(scene.picture.size, scene.boxes())
    return {".jpg": photo.jpeg(rng, scene.picture), ".xml": boxes}
