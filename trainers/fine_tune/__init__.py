"""Fine-tuning from pixels: the last blocks of a backbone, or all of it, with its head."""

from trainers.fine_tune.augment import Augmentation
from trainers.fine_tune.feature_maps import Pictures
from trainers.fine_tune.settings import FineTuneSettings
from trainers.fine_tune.train import FineTuned, fine_tune
from trainers.training import Epoch

__all__ = ["Augmentation", "Epoch", "FineTuneSettings", "FineTuned", "Pictures", "fine_tune"]
