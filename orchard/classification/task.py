"""The part of a task that is the same for all tasks with one class a sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orchard.classification import labels, metrics, response, thresholds
from orchard.tasks.base import Answers, Finding, Plot, Scores, Table, Task, Verdict

Floats = NDArray[np.float32]


class ClassificationTask(Task):
    """Samples in, one of K class names out.

    The graph gives (R, K) scores, each row summing to 1. The answer of a sample is these rows; a
    sample's own scores are their mean.
    """

    objectives = {name: name for name in thresholds.OBJECTIVES}
    losses = {"accuracy": "log_loss", "worst_class_recall": "macro_log_loss"}
    figure_words = {
        "accuracy": "answered right (accuracy)",
        "macro_f1": "all classes alike (macro F1)",
        "worst_class_recall": "of the worst class found (recall)",
        "test_samples": "samples tested",
    }

    def labels_of(self, annotation: Any) -> tuple[str, ...]:
        return labels.labels_of(annotation)

    def renamed(self, annotation: Any, names: Mapping[str, str]) -> Any:
        return labels.renamed(annotation, names)

    def answer(self, outputs: Floats, shape: tuple[int, ...], card: Mapping[str, Any]) -> Floats:
        return np.ascontiguousarray(outputs, np.float32)

    def unflattened(self, flat: Floats, labels: Sequence[str]) -> Floats:
        return np.asarray(flat, np.float32).reshape(-1, len(labels))

    def verdict(self, answer: Floats, truth: Any, card: Mapping[str, Any]) -> Verdict:
        scores = sample_scores(answer)
        best = int(scores.argmax())
        said = str(card["labels"][best])
        given = next(iter(self.labels_of(truth)), "")
        return Verdict(said == given, given, said, float(scores[best]))

    def metrics(self, answers: Answers, card: Mapping[str, Any]) -> dict[str, Any]:
        return metrics.evaluate(self.class_scores(answers))

    @property
    def headline_metrics(self) -> Sequence[str]:
        return ("accuracy", "macro_f1", "worst_class_recall")

    def class_scores(self, answers: Answers) -> Scores:
        index = {label: number for number, label in enumerate(answers.labels)}
        truth = [index.get(next(iter(self.labels_of(each)), ""), -1) for each in answers.truths]
        scores = np.empty((len(answers.answers), len(answers.labels)), np.float32)
        for row, answer in zip(scores, answers.answers, strict=True):
            row[:] = sample_scores(answer)
        return Scores(answers.labels, scores, np.asarray(truth, np.int64), answers.sample_ids)

    def thresholds(self, answers: Answers, objective: str) -> dict[str, Any]:
        return thresholds.choose(self.class_scores(answers), objective)

    def response(
        self, answer: Floats, card: Mapping[str, Any], request: Mapping[str, Any]
    ) -> dict[str, Any]:
        return response.response(sample_scores(answer), card, request)

    def parity_request(self, card: Mapping[str, Any]) -> dict[str, Any]:
        return {"top_num": len(card["labels"])}

    def difference(self, here: Mapping[str, Any], there: Mapping[str, Any]) -> float:
        return response.difference(here, there)

    def findings(
        self, metrics: Mapping[str, Any], card: Mapping[str, Any], summary: Mapping[str, Any]
    ) -> list[Finding]:
        from orchard.classification.findings import findings

        return findings(metrics, card, summary, self.sample_word)

    def plots(self, metrics: Mapping[str, Any], card: Mapping[str, Any]) -> list[Plot]:
        from orchard.classification.plots import plots

        return plots(metrics, card, self.sample_word)

    def class_table(
        self, metrics: Mapping[str, Any], card: Mapping[str, Any], labels: Mapping[str, Any]
    ) -> Table | None:
        names = ("precision", "recall", "f1")
        heads = [head for name in names for head in (name, "95 % interval")]
        rows = []
        for label, row in metrics["per_class"].items():
            figures = [text for name in names for text in _with_range(row, name)]
            trained = labels.get(label, {}).get("train", 0)
            threshold = f"{card['thresholds']['per_class'][label]:.3f}"
            rows.append((label, f"{trained}", f"{row['support']}", *figures, threshold))
        return Table(("class", "train", "test", *heads, "threshold"), tuple(rows))


def _with_range(row: Mapping[str, Any], name: str) -> tuple[str, str]:
    low_high = row[f"{name}_interval"]
    return f"{row[name]:.3f}", "{:.3f} – {:.3f}".format(*low_high) if low_high else "—"


def sample_scores(answer: Floats) -> Floats:
    """(R, K) scores of a sample's rows → (K,) of the sample."""
    scores: Floats = answer[0] if len(answer) == 1 else answer.mean(axis=0)
    return scores
