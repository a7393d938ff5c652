"""Training of one network, epoch by epoch, that can be left after any epoch and taken up again."""

from trainers.training.checkpoint import Epoch, State
from trainers.training.settings import OBJECTIVES, TrainingSettings
from trainers.training.stored import StoredCheckpoint
from trainers.training.trainer import CHECKPOINT, Examples, Model, Trainer, hash_of

__all__ = [
    "CHECKPOINT",
    "Epoch",
    "Examples",
    "Model",
    "OBJECTIVES",
    "State",
    "StoredCheckpoint",
    "Trainer",
    "TrainingSettings",
    "hash_of",
]
