from tests.trainers.backbones.tiny import tiny

__all__ = ["tiny"]
