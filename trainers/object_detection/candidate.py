"""One candidate of the search: its settings, its model in training, and what it finds."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from trainers.engine import paddle, seed_everything
from trainers.object_detection.assign import adaptive, aligned
from trainers.object_detection.augment import Batch, draw
from trainers.object_detection.geometry import Array, anchor_points
from trainers.object_detection.losses import box_overlaps, distribution_focal, quality_focal
from trainers.object_detection.maps import Pictures
from trainers.object_detection.network import BINS, Head, boxes_at, distances
from trainers.object_detection.settings import Settings
from trainers.object_detection.unfrozen import Unfrozen

Tensor = paddle.Tensor
MEASURED_AT_ONCE = 8
FOLLOWED = 4
"""Steps between two moves of the averaged weights: each step would cost a tenth of its time."""


Model = Head | Unfrozen
Make = Callable[[Settings, float], Model]
"""Settings and share of channels that a training step leaves out → a model."""


class Candidate:
    """A head, or a head and its backbone, that trains epoch by epoch.

    Everything random follows from `seed` and the epoch's number, so that training can be left after
    any epoch and taken up again.

    Args:
        rows: pictures to train on.
        make: builds the model.
        epochs: that the learning rate's course is made for.
        epoch_pictures: pictures an epoch, in random order; all once where it is 0.
    """

    def __init__(
        self,
        settings: Settings,
        pictures: Pictures,
        rows: NDArray[np.int64],
        make: Make,
        *,
        epochs: int,
        seed: int,
        epoch_pictures: int = 0,
    ) -> None:
        self.settings, self._pictures, self._rows = settings, pictures, rows
        self._seed, self.epoch = seed, 0
        self._epoch_pictures = epoch_pictures or len(rows)
        seed_everything(seed)
        self.model = make(settings, settings.dropout)
        self._averaged = make(settings, 0.0)
        self._averaged.set_state_dict(self.model.state_dict())
        self._averaged.eval()
        self.points, self.strides = anchor_points(self.model.shape.positions)
        self._steps = epochs * self.steps_an_epoch
        decayed = {p.name for p in self.model.parameters() if len(p.shape) > 1}
        if isinstance(self.model, Unfrozen) and self.model.pretrained:
            for parameter in self.model.network.parameters():
                parameter.optimize_attr["learning_rate"] = settings.backbone_rate
        self.optimiser = paddle.optimizer.AdamW(
            settings.rate,
            beta2=0.99,
            parameters=self.model.parameters(),
            weight_decay=settings.weight_decay,
            apply_decay_param_fun=lambda name: name in decayed,
            grad_clip=paddle.nn.ClipGradByGlobalNorm(10.0),
        )

    @property
    def steps_an_epoch(self) -> int:
        return max(1, self._epoch_pictures // self.settings.batch)

    def train_epoch(self) -> dict[str, float]:
        """One pass over the training pictures; the mean losses."""
        random = np.random.default_rng([self._seed, self.epoch])
        seed_everything(int(random.integers(2**31)))
        order, others = self._order(random), self._order(random)
        self.model.train()
        sums: dict[str, float] = {}
        size = self.settings.batch
        for step in range(self.steps_an_epoch):
            part = slice(step * size, step * size + size)
            batch = draw(self._pictures, order[part], others[part], random, self.settings.joined)
            self.optimiser.set_lr(self._rate(self.epoch * self.steps_an_epoch + step))
            for name, value in self._step(batch).items():
                sums[name] = sums.get(name, 0.0) + value / self.steps_an_epoch
            if step % FOLLOWED == FOLLOWED - 1 or step + 1 == self.steps_an_epoch:
                self._follow(step % FOLLOWED + 1)
        self.epoch += 1
        return sums

    def _order(self, random: np.random.Generator) -> list[int]:
        """The epoch's pictures: a part of all, or all more than once."""
        passes = -(-self._epoch_pictures // len(self._rows))
        rows = np.concatenate([random.permutation(self._rows) for _ in range(passes)])
        return [int(row) for row in rows[: self._epoch_pictures]]

    def _rate(self, step: int) -> float:
        warm_up = min(self.settings.warm_up, self._steps // 5 + 1)
        if step < warm_up:
            return self.settings.rate * (step + 1) / (warm_up + 1)
        done = (step - warm_up) / max(1, self._steps - warm_up)
        return self.settings.rate * (0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * min(1.0, done))))

    def _step(self, batch: Batch) -> dict[str, float]:
        raw = self.model([paddle.to_tensor(level) for level in batch.maps])
        losses = self._losses(raw, batch)
        total = losses["classes"] + self.settings.box_weight * losses["boxes"]
        total = total + self.settings.distribution_weight * losses["distribution"]
        total.backward()
        self.optimiser.step()
        self.optimiser.clear_grad()
        return {name: float(value) for name, value in losses.items()}

    def _losses(self, raw: Tensor, batch: Batch) -> dict[str, Tensor]:
        assigned = self._assign(raw, batch)
        count, positions = assigned.shape
        picture, place = np.nonzero(assigned >= 0)
        logits = raw[:, :, 4 * BINS :]
        targets = np.zeros(logits.shape, np.float32)
        if not len(picture):
            loss = quality_focal(logits, paddle.to_tensor(targets))
            zero = 0.0 * raw.sum()
            return {"classes": loss / count, "boxes": zero, "distribution": zero}
        which = assigned[picture, place]
        goal = np.stack([batch.boxes[i][j] for i, j in zip(picture, which, strict=True)])
        labels = np.array([batch.classes[i][j] for i, j in zip(picture, which, strict=True)])
        points, strides = self.points[place], self.strides[place]
        flat = raw.reshape([count * positions, raw.shape[2]])
        chosen = paddle.gather(flat, paddle.to_tensor(picture * positions + place))
        sides = chosen[:, : 4 * BINS]
        predicted = boxes_at(paddle.to_tensor(points), paddle.to_tensor(strides), distances(sides))
        overlap, generalised = box_overlaps(predicted, paddle.to_tensor(goal))
        quality = overlap.detach().numpy()
        targets[picture, place, labels] = quality
        reach = np.concatenate([points - goal[:, :2], goal[:, 2:] - points], axis=1)
        reach = np.clip(reach / strides[:, None], 0, BINS - 1.01).astype(np.float32)
        distribution = distribution_focal(
            sides.reshape([len(which), 4, BINS]), paddle.to_tensor(reach)
        )
        weights = np.maximum(quality, 0.1)
        weight = paddle.to_tensor(weights / weights.sum())
        return {
            "classes": quality_focal(logits, paddle.to_tensor(targets)) / len(which),
            "boxes": ((1 - generalised) * weight).sum(),
            "distribution": (distribution * weight).sum(),
        }

    def _assign(self, raw: Tensor, batch: Batch) -> NDArray[np.int64]:
        if self.settings.assigner == "adaptive":
            return np.stack([adaptive(self.points, self.strides, b) for b in batch.boxes])
        outputs = decoded(raw.detach(), self.points, self.strides).numpy()
        return np.stack(
            [
                aligned(self.points, boxes, one[:, 4:], one[:, :4], classes)
                for one, boxes, classes in zip(outputs, batch.boxes, batch.classes, strict=True)
            ]
        )

    def _follow(self, steps: int) -> None:
        """Move the averaged weights towards those of the training model, for so many steps."""
        share = 1 - self.settings.average**steps
        with paddle.no_grad():
            for mean, new in zip(self._averaged.parameters(), self.model.parameters(), strict=True):
                mean.lerp_(new, share)

    def averaged(self) -> Model:
        """The model with averaged weights and the training model's running statistics."""
        buffers = dict(self.model.named_sublayers())
        for name, layer in self._averaged.named_sublayers():
            if isinstance(layer, paddle.nn.BatchNorm2D):
                layer._mean.set_value(buffers[name]._mean)
                layer._variance.set_value(buffers[name]._variance)
        return self._averaged

    def state(self) -> dict[str, NDArray[Any]]:
        """Everything that training goes on from, as arrays."""
        state = {f"model/{n}": v.numpy() for n, v in self.model.state_dict().items()}
        state |= {f"mean/{n}": v.numpy() for n, v in self._averaged.state_dict().items()}
        names = self._structure_names()
        for key, value in self.optimiser.state_dict().items():
            if isinstance(value, paddle.Tensor):
                own = next(name for name in names if key.startswith(name))
                state[f"optimiser/{names[own]}/{key.removeprefix(own)}"] = value.numpy()
        return {**state, "epoch": np.array(self.epoch)}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Take up what `state` gave."""
        names = {structure: own for own, structure in self._structure_names().items()}
        parts: dict[str, dict[str, NDArray[Any]]] = {"model": {}, "mean": {}, "optimiser": {}}
        for key, value in state.items():
            part, _, rest = key.partition("/")
            if part == "optimiser":
                structure, _, accumulator = rest.partition("/")
                rest = names[structure] + accumulator
            if part in parts:
                parts[part][rest] = value
        self.model.set_state_dict(cast(Any, parts["model"]))
        self._averaged.set_state_dict(cast(Any, parts["mean"]))
        self.optimiser.set_state_dict(
            {name: paddle.to_tensor(value) for name, value in parts["optimiser"].items()}
        )
        self.epoch = int(state["epoch"])

    def _structure_names(self) -> dict[str, str]:
        """Paddle's own name of each parameter, which differs from process to process, the longest
        first → its name in the model."""
        names = {p.name: name for name, p in self.model.named_parameters()}
        return dict(sorted(names.items(), key=lambda item: (-len(item[0]), item[0])))


def decoded(raw: Tensor, points: Array, strides: Array) -> Tensor:
    """(N, A, 4 * BINS + K) raw outputs → (N, A, 4 + K): boxes in input pixels, scores."""
    boxes = boxes_at(
        paddle.to_tensor(points), paddle.to_tensor(strides), distances(raw[:, :, : 4 * BINS])
    )
    scores = paddle.nn.functional.sigmoid(raw[:, :, 4 * BINS :])
    return paddle.concat([boxes, scores], axis=-1)


def outputs_of(model: Model, pictures: Pictures, rows: Sequence[int], view: int) -> Array:
    """(len(rows), A, 4 + K) float32: what a model says of pictures in a view."""
    points, strides = anchor_points(model.shape.positions)
    model.eval()
    parts = []
    with paddle.no_grad():
        for start in range(0, len(rows), MEASURED_AT_ONCE):
            pairs = [(row, view) for row in rows[start : start + MEASURED_AT_ONCE]]
            raw = model([paddle.to_tensor(level) for level in pictures.maps(pairs)])
            parts.append(decoded(raw, points, strides).numpy())
    return np.concatenate(parts)
