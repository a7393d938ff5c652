"""What tasks that give one class a sample have in common: labels, figures, thresholds, response.

Pure: numpy only. A task's folder adds what a sample is.
"""

from orchard.classification.task import ClassificationTask

__all__ = ["ClassificationTask"]
