"""The summary of a data set version: what a person and the plan need to know of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from orchard.checking.advice import advise
from orchard.checking.manifest import Census
from orchard.tasks.base import Task

EXAMPLES = 50
CONFLICT = "conflicting_labels"


def make(
    found: Census,
    *,
    task: Task,
    number: int,
    facts: Mapping[str, int],
    renamed: Sequence[Mapping[str, object]],
    refused: Iterable[pa.RecordBatch],
    near: Mapping[str, Any],
) -> dict[str, Any]:
    """The summary as JSON.

    Args:
        found: counts over the manifest.
        facts: copies (exact duplicates), relabelled.
        renamed: spellings that were replaced, {from, to, count}.
        refused: rows of what did not come in, in the order in which they are shown.
        near: groups (number with several members), across_splits (number that
            hold test samples and others), across_labels and left_out (examples).
    """
    codes: Counter[str] = Counter()
    examples: list[dict[str, str]] = []
    conflicts: list[dict[str, str]] = []
    for batch in refused:
        codes.update(batch.column("code").to_pylist())
        room = EXAMPLES - len(examples)
        shown = batch.slice(0, max(room, 0)).to_pylist()
        examples += [{name: row[name] for name in ("path", "code", "reason")} for row in shown]
        if len(conflicts) < EXAMPLES:
            named = [row for row in batch.to_pylist() if row["code"] == CONFLICT]
            conflicts += [
                {"path": row["path"], "reason": row["reason"]}
                for row in named[: EXAMPLES - len(conflicts)]
            ]
    verdict = advise(found.labels, task)
    advice = list(verdict.advice)
    if number_left_out := found.splits.get("left_out", 0):
        advice.append(
            f"{number_left_out} {task.sample_word}s look like one of the training and one of the "
            "test split at once; they are left out of both"
        )
    if near["across_splits"]:
        advice.append(
            f"{near['across_splits']} groups of look-alikes are in the test split and in another, "
            "as the source divides them; figures will look better than they are"
        )
    objects = found.objects
    return {
        "task": task.name,
        "number": number,
        "samples": found.samples,
        "bytes": found.bytes,
        "labels": found.labels,
        **({"objects": objects} if objects != found.labels else {}),
        "splits": dict(sorted(found.splits.items())),
        "sizes": found.sizes,
        **({} if found.object_share is None else {"object_share": found.object_share}),
        "added": found.added[number],
        "refused": dict(sorted(codes.items())),
        "refused_examples": examples,
        "conflicts": conflicts,
        "renamed_labels": [dict(each) for each in renamed][:EXAMPLES],
        "relabelled": facts["relabelled"],
        "duplicates": facts["copies"],
        "near_duplicate_groups": near["groups"],
        "near_duplicates_across_labels": near["across_labels"],
        "near_duplicates_across_splits": near["across_splits"],
        "left_out": near["left_out"],
        "notices": dict(found.notices.most_common(EXAMPLES)),
        "advice": advice,
        "trainable": verdict.trainable,
        "reasons": verdict.reasons,
    }
