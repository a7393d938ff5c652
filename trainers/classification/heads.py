"""Many heads trained side by side as one large matrix product.

All heads of a group share a basis, a hidden size and an optimiser; each has its own learning rate,
weight decay, smoothing and so on, kept as vectors. A candidate that is validated in F folds is F
models here. Weights stand as (R, M·K), one column for each model and class, so a whole group is
one product for the forward pass and one for the gradient.

Mixing the samples (mixup, Zhang et al. 2018, arXiv:1710.09412) is done on the first layer's linear
output, which is the same as mixing its input and needs no product of its own. Partners are drawn
inside a fold, so that nothing of a validation sample is trained on.

Coordinates are multiplied by the inverse root of the loss's curvature along them, so that a few dozen
epochs get near the minimum of the regularised loss, which does not depend on how the coordinates
were chosen. Of the optimisers "novograd" (Ginsburg et al. 2019, arXiv:1905.11286) divides a layer's
gradient by its running norm; "momentum" is Nesterov's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trainers.classification.bases import Basis
from trainers.classification.candidates import Candidate
from trainers.engine import paddle

Array = NDArray[np.float32]

BATCH_ROWS = 2048
EVALUATION_ROWS = 4096
WARM_UP_STEPS = 3
DECAY_EPOCHS = 20.0
MOMENTUM = 0.9
CURVATURE = 0.2
"""Of the logarithmic loss, about, early in training."""
SQUARES = 0.95
TINY = 1e-8


@dataclass(frozen=True)
class Problem:
    """What all heads of a trial learn.

    Attributes:
        truth: (N,) class index.
        folds: (N,) fold that validates the sample, -1 where none does.
        fold_count: F; 0 trains one model on everything and validates nothing.
        classes: K.
    """

    truth: NDArray[np.int64]
    folds: NDArray[np.int64]
    fold_count: int
    classes: int

    def masks(self) -> Array:
        """(models a candidate, N): 1 where the model trains on the sample."""
        if self.fold_count == 0:
            return np.ones((1, len(self.truth)), np.float32)
        folds = np.arange(self.fold_count)[:, None]
        return (self.folds[None, :] != folds).astype(np.float32)

    def class_weights(self) -> Array:
        """(N,) weights with which all classes count the same; their mean is 1."""
        counts = np.maximum(np.bincount(self.truth, minlength=self.classes), 1)
        weights = 1.0 / counts[self.truth]
        return (weights / weights.mean()).astype(np.float32)


class HeadGroup:
    """Heads of one basis, one hidden size and one optimiser.

    Args:
        seed: of everything random in this group; batches, views, partners and shares depend on it
            and on the epoch only, not on which heads are still in.
    """

    def __init__(
        self, basis: Basis, candidates: Sequence[Candidate], problem: Problem, seed: int
    ) -> None:
        first = candidates[0]
        self.basis, self.problem, self.seed = basis, problem, seed
        self.hidden, self.optimiser = first.hidden, first.optimiser
        self.models = max(1, problem.fold_count)
        self.epoch = 0
        self.step = 0
        self._masks = problem.masks()
        self._class_weights = problem.class_weights()
        self._columns = paddle.to_tensor(
            np.concatenate([_column_scale(basis, each)[:, None] for each in candidates], axis=1)
        )  # (R, C)
        self._hyper = {
            name: paddle.to_tensor(np.array([getattr(c, name) for c in candidates], np.float32))
            for name in ("learning_rate", "weight_decay", "label_smoothing", "dropout")
        }
        self._mixup = np.array([c.mixup for c in candidates])
        self._balanced = np.array([c.class_weights for c in candidates])
        self._ids = np.arange(len(candidates))
        self._parameters = self._initial(len(candidates))
        self._state = [[paddle.zeros_like(p) for p in self._parameters] for _ in range(2)]

    @property
    def ids(self) -> list[int]:
        """Positions, among those the group began with, of the heads that are still in."""
        return [int(each) for each in self._ids]

    def retain(self, ids: Sequence[int]) -> None:
        """Only these heads go on."""
        kept = np.flatnonzero(np.isin(self._ids, list(ids)))
        if len(kept) == len(self._ids):
            return
        index = paddle.to_tensor(kept)
        self._ids = self._ids[kept]
        self._mixup, self._balanced = self._mixup[kept], self._balanced[kept]
        self._hyper = {name: value[index] for name, value in self._hyper.items()}
        self._columns = self._columns.index_select(index, axis=1)
        self._parameters = [p.index_select(index, axis=_axis(p)) for p in self._parameters]
        self._state = [[p.index_select(index, axis=_axis(p)) for p in s] for s in self._state]

    def train_epoch(self) -> None:
        """One pass over the samples, each in a view that is drawn anew."""
        generator = np.random.default_rng([self.seed, self.epoch])
        count = len(self.problem.truth)
        views = generator.integers(len(self.basis.coordinates), size=count)
        partners = _partners(self.problem.folds, generator)
        uniform = generator.random(512)
        shares = np.array([_mixing_share(a, uniform) for a in self._mixup], np.float32)
        steps = max(1, -(-count // BATCH_ROWS))
        order = generator.permutation(count) if steps > 1 else np.arange(count)
        for rows in np.array_split(order, steps):
            self._train_step(rows, views, partners, shares, generator)
        self.epoch += 1

    def logits(self, view: int = 0) -> Array:
        """(C, N, K) logits of every sample: of the fold's model where one validates it, else of
        the candidate's first model."""
        count, classes = len(self.problem.truth), self.problem.classes
        result = np.empty((len(self._ids), count, classes), np.float32)
        model = np.maximum(self.problem.folds, 0) if self.models > 1 else np.zeros(count, int)
        with paddle.no_grad():
            for start in range(0, count, EVALUATION_ROWS):
                stop = min(count, start + EVALUATION_ROWS)
                values = paddle.to_tensor(np.asarray(self.basis.coordinates[view, start:stop]))
                values = self._second(self._first(values)).numpy()  # (n, C, F, K)
                chosen = values[np.arange(stop - start), :, model[start:stop]]  # (n, C, K)
                result[:, start:stop] = chosen.transpose(1, 0, 2)
        return result

    def layers(self, position: int) -> list[tuple[Array, Array]]:
        """Weights and biases of the head at this place of `ids`, on the features of the basis,
        of its first model: [(D, K)] or [(D, H), (H, K)]."""
        scale = self._columns[:, position].numpy()
        weight = self._parameters[0][:, position, 0].numpy() * scale[:, None]
        first = (self.basis.projection @ weight, self._parameters[1][0, position, 0].numpy())
        if not self.hidden:
            return [first]
        second = (
            self._parameters[2][0, position, 0].numpy(),
            self._parameters[3][0, position, 0].numpy(),
        )
        return [first, second]

    def _initial(self, candidates: int) -> list[Any]:
        """Parameters, each (inputs or 1, C, F, …); heads of one group start alike."""
        rank, classes, models = self.basis.rank, self.problem.classes, self.models
        if not self.hidden:
            shapes = [(rank, candidates, models, classes), (1, candidates, models, classes)]
            return [paddle.zeros(shape) for shape in shapes]
        generator = np.random.default_rng([self.seed, 7919])
        variances = np.square(self._columns.numpy() * self.basis.deviations[:, None])
        lengths = np.sqrt(variances.sum(axis=0)).astype(np.float32)  # of a sample, each candidate
        first = generator.standard_normal((rank, 1, 1, self.hidden), np.float32)
        second = generator.standard_normal((1, 1, 1, self.hidden, classes), np.float32)
        return [
            paddle.to_tensor(
                np.tile(first, (1, candidates, models, 1)) / lengths[None, :, None, None]
            ),
            paddle.zeros([1, candidates, models, self.hidden]),
            paddle.to_tensor(
                np.tile(second * np.float32(0.5 / self.hidden**0.5), (1, candidates, models, 1, 1))
            ),
            paddle.zeros([1, candidates, models, classes]),
        ]

    def _first(self, rows: Any) -> Any:
        """(n, R) → (n, C, F, K or H)."""
        weight, bias = self._parameters[:2]
        scaled = weight * self._columns.unsqueeze(-1).unsqueeze(-1)
        flat = paddle.matmul(rows, scaled.reshape([self.basis.rank, -1]))
        return flat.reshape([-1, *weight.shape[1:]]) + bias

    def _second(self, values: Any, dropped: Any = None) -> Any:
        """(n, C, F, K or H) → (n, C, F, K)."""
        if not self.hidden:
            return values
        values = paddle.nn.functional.relu(values)
        if dropped is not None:
            values = values * dropped
        _, candidates, models, hidden = values.shape
        models = candidates * models
        weight = self._parameters[2].reshape([models, hidden, -1])
        flat = values.reshape([-1, models, hidden]).transpose([1, 0, 2])
        result = paddle.bmm(flat, weight).transpose([1, 0, 2])
        return result.reshape([-1, candidates, self.models, weight.shape[-1]]) + self._parameters[3]

    def _train_step(
        self,
        rows: NDArray[np.int64],
        views: NDArray[np.int64],
        partners: NDArray[np.int64],
        shares: Array,
        generator: np.random.Generator,
    ) -> None:
        for parameter in self._parameters:
            parameter.stop_gradient = False
        here = _partners_within(rows, partners)
        inputs = paddle.to_tensor(self._gather(rows, views))
        one_hot = np.eye(self.problem.classes, dtype=np.float32)[self.problem.truth[rows]]
        share = paddle.to_tensor(shares).reshape([1, -1, 1, 1])
        values = self._first(inputs)
        target = paddle.to_tensor(one_hot)[:, None, None]
        if (shares < 1.0).any():
            index = paddle.to_tensor(here)
            values = share * values + (1 - share) * values.index_select(index, axis=0)
            target = share * target + (1 - share) * target.index_select(index, axis=0)
        smoothing = self._hyper["label_smoothing"].reshape([1, -1, 1, 1])
        target = (1 - smoothing) * target + smoothing / self.problem.classes
        logits = self._second(values, self._dropped(len(rows), generator))
        losses = -(target * paddle.nn.functional.log_softmax(logits, axis=-1)).sum(-1)
        loss = (losses * paddle.to_tensor(self._weights(rows))).sum()
        gradients = paddle.grad(loss, self._parameters)
        with paddle.no_grad():
            self._update(gradients)

    def _gather(self, rows: NDArray[np.int64], views: NDArray[np.int64]) -> Array:
        return np.asarray(self.basis.coordinates[views[rows], rows])

    def _weights(self, rows: NDArray[np.int64]) -> Array:
        """(n, C, F) weights of the samples' losses; they sum to 1 for each model."""
        masks = self._masks[:, rows].T[:, None, :]  # (n, 1, F)
        classes = np.where(self._balanced[None, :], self._class_weights[rows][:, None], 1.0)
        weights = masks * classes[:, :, None]
        return (weights / np.maximum(weights.sum(axis=0, keepdims=True), 1e-9)).astype(np.float32)

    def _dropped(self, count: int, generator: np.random.Generator) -> Any:
        if not self.hidden:
            return None
        draws = paddle.to_tensor(generator.random((count, 1, 1, self.hidden), np.float32))
        rate = self._hyper["dropout"].reshape([1, -1, 1, 1])
        return (draws >= rate).astype("float32") / (1 - rate)

    def _update(self, gradients: Sequence[Any]) -> None:
        self.step += 1
        factor = min(1.0, self.step / WARM_UP_STEPS) / np.sqrt(1 + self.epoch / DECAY_EPOCHS)
        rate = self._hyper["learning_rate"] * float(factor)
        decays = self._hyper["weight_decay"]
        for number, (parameter, gradient) in enumerate(
            zip(self._parameters, gradients, strict=True)
        ):
            shape = [1, -1] + [1] * (len(parameter.shape) - 2)
            first = self._state[0][number]
            if number == 0:
                decay = (decays * self._columns * self._columns).unsqueeze(-1).unsqueeze(-1)
                gradient = gradient + decay * parameter
            elif number == 2:
                gradient = gradient + decays.reshape(shape) * parameter
            if self.optimiser == "novograd":
                second = self._state[1][number]
                axes = [axis for axis in range(len(gradient.shape)) if axis not in (1, 2)]
                square = (gradient * gradient).sum(axis=axes, keepdim=True)
                second = square if self.step == 1 else SQUARES * second + (1 - SQUARES) * square
                self._state[1][number] = second
                first = MOMENTUM * first + gradient / (paddle.sqrt(second) + TINY)
                change = first
            else:
                first = MOMENTUM * first + gradient
                change = gradient + MOMENTUM * first
            self._state[0][number] = first
            updated = parameter - rate.reshape(shape) * change
            updated.stop_gradient = True
            self._parameters[number] = updated


def _axis(parameter: Any) -> int:
    """Where a parameter's candidates stand."""
    return 1


def _column_scale(basis: Basis, candidate: Candidate) -> Array:
    """(R,) what each coordinate is multiplied by, so that all are learnt at about one pace: the
    inverse root of the loss's curvature along it, up to a factor."""
    damping = np.float32(candidate.weight_decay / CURVATURE)
    return np.asarray(1 / np.sqrt(np.square(basis.deviations) + damping))


def _mixing_share(strength: float, uniform: NDArray[np.float64]) -> float:
    """A share in [0.5, 1] out of Beta(a, a) by Jöhnk's method, from given uniform numbers, so that
    the draws of one candidate do not depend on the others."""
    if strength <= 0:
        return 1.0
    for one, two in uniform.reshape(-1, 2):
        x, y = one ** (1 / strength), two ** (1 / strength)
        if 0 < x + y <= 1:
            share = float(x / (x + y))
            return max(share, 1 - share)
    return 1.0


def _partners(folds: NDArray[np.int64], generator: np.random.Generator) -> NDArray[np.int64]:
    """For every sample a partner of the same fold: a random permutation inside each fold."""
    partners = np.arange(len(folds))
    for fold in np.unique(folds):
        members = np.flatnonzero(folds == fold)
        partners[members] = generator.permutation(members)
    return partners


def _partners_within(rows: NDArray[np.int64], partners: NDArray[np.int64]) -> NDArray[np.int64]:
    """Positions in `rows` of the rows' partners; a row whose partner is elsewhere has itself."""
    position = np.full(len(partners), -1, np.int64)
    position[rows] = np.arange(len(rows))
    found = position[partners[rows]]
    return np.where(found >= 0, found, np.arange(len(rows)))
