"""What steps cost on one processor core: fixed reference figures, so that equal data gives equal
plans on any machine whose cores are equally fast."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Costs:
    """Seconds of one reference core unless stated otherwise.

    Attributes:
        cores: cores that work on a step.
        core_speed: how many times faster than the reference a core is here.
        decode_megapixel: reading a picture, for each million of its pixels.
        spark_start: until a Spark job does its first row.
        trial_start: until a trial has its libraries, and what it takes to export and store.
        basis_sample: turning one sample's features, for each view, recipe and 1000 features.
        head_epoch: one epoch of one head on 1000 samples and 10 classes, all folds.
        head_overhead: what an epoch costs whatever the number of samples, in thousands of samples.
        fine_tune_megapixel: an epoch of the last blocks, for each million pixels of input.
        scratch_second: an epoch of a small network from scratch, for each second of its window.
        gpu_speed: how many times faster a GPU fine-tunes.
    """

    cores: int = 2
    core_speed: float = 1.0
    decode_megapixel: float = 0.018
    spark_start: float = 7.5
    trial_start: float = 5.5
    basis_sample: float = 0.00006
    head_epoch: float = 0.0035
    head_overhead: float = 0.6
    fine_tune_megapixel: float = 0.5
    scratch_second: float = 0.0045
    gpu_speed: float = 20.0

    def prepare_sample(self, pixels: float, card: Mapping[str, Any], views: int) -> float:
        """Seconds of a core for one sample's features from so many pixels, without its decoding."""
        megapixels = pixels / 1e6
        return views * float(card["milliseconds_per_megapixel"]) / 1000 * megapixels

    def search(self, samples: int, classes: int, folds: int, epochs: int) -> float:
        """Seconds of a core for a number of candidate epochs."""
        models = max(1, folds) / 5
        size = samples / 1000 + self.head_overhead
        return epochs * self.head_epoch * models * size * max(0.3, classes / 10)

    def scratch(self, samples: int, seconds: float, epochs: int, members: int) -> float:
        """Seconds of a core to train members from scratch on windows of so many seconds.

        Args:
            members: each trains on what the others hold out; one alone on four fifths, too.
        """
        share = 1 - 1 / max(members, 5)
        return members * samples * share * epochs * seconds * self.scratch_second

    def fine_tune(self, samples: int, size: int, epochs: int, views: int, gpus: int) -> float:
        """Seconds to fine-tune the last blocks on one core, or on a GPU where there is one.

        A cached view costs about a third of an epoch of training.
        """
        epoch = samples * self.fine_tune_megapixel * size**2 / 1e6
        return epoch * (epochs + views / 3) / (self.gpu_speed if gpus else 1.0)
