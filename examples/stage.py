"""A scene in metres and the pinhole camera that draws it onto a picture.

X runs to the right along the scene, Y up from the floor, Z towards the camera.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw

from examples import photo
from examples.photo import Colour

Point = tuple[float, float, float]
Pixel = tuple[float, float]
Matrix = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Camera:
    """A pinhole camera: its place, its axes (rows: right, down, forward), its scale in pixels."""

    place: Matrix
    axes: Matrix
    scale: float
    centre: Pixel

    def pixel(self, point: Point) -> Pixel:
        """Where a place in metres lies in the picture."""
        right, down, forward = self.axes @ (np.asarray(point) - self.place)
        near = max(0.05, float(forward))
        return (
            self.centre[0] + self.scale * float(right) / near,
            self.centre[1] + self.scale * float(down) / near,
        )

    def reach(self, point: Point, metres: float) -> float:
        """How many pixels a length takes at a place."""
        forward = float(self.axes[2] @ (np.asarray(point) - self.place))
        return self.scale * metres / max(0.05, forward)

    def times(self, factor: float) -> Camera:
        """The same view for a picture `factor` times as large."""
        centre = (self.centre[0] * factor, self.centre[1] * factor)
        return Camera(self.place, self.axes, self.scale * factor, centre)


class Stage:
    """A picture and the camera that looks at it."""

    def __init__(self, picture: Image.Image, camera: Camera) -> None:
        self.picture = picture
        self.camera = camera
        self.pen = ImageDraw.Draw(picture)

    def face(self, points: Sequence[Point], fill: Colour) -> None:
        """A flat area with these corners."""
        self.pen.polygon([self.camera.pixel(point) for point in points], fill=fill)

    def rod(self, start: Point, end: Point, thickness: float, metal: Colour) -> None:
        """A round bar of `thickness` metres with a bright and a dark side."""
        line = (*self.camera.pixel(start), *self.camera.pixel(end))
        middle = ((start[0] + end[0]) / 2, (start[1] + end[1]) / 2, (start[2] + end[2]) / 2)
        width = max(1, round(self.camera.reach(middle, thickness)))
        self.pen.line(line, fill=photo.shade(metal, 0.55), width=width + 1)
        self.pen.line(
            (line[0], line[1] - 1, line[2], line[3] - 1), fill=metal, width=max(1, width - 1)
        )
        if width > 4:
            self.pen.line(
                (line[0], line[1] - width // 4, line[2], line[3] - width // 4),
                fill=photo.mix(metal, (255, 255, 255), 0.6),
                width=max(1, width // 4),
            )


def upright(stage: Stage, at: Point) -> tuple[float, float, float]:
    """The pixel of a base point and how many pixels a metre takes there."""
    x, y = stage.camera.pixel(at)
    return x, y, stage.camera.reach(at, 1.0)
