"""What a detector's figures mean, in words for people who know pictures and not statistics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orchard.tasks.base import Finding
from orchard.tasks.object_detection.errors import (
    BADLY_PLACED,
    BOTH,
    DOUBLE,
    INVENTED,
    MISSED,
    WRONG_CLASS,
)
from orchard.tasks.weaknesses import mixed_up, weak_classes
from orchard.tasks.wording import counted, names, percent, sentence

USELESS_AP50 = 0.1
STRONG = 0.9
WEAK_RECALL = 0.8
FEW_TEST_BOXES = 10
LOOSE_SHARE = 0.5
MOST_NAMED = 3
LEAST_MIXED = 2
LEAST_MIXED_SHARE = 0.05
LEAST_ERRORS = 3
SMALL_GAP = 0.15

_ERRORS = {
    MISSED: (
        "objects that it does not see at all",
        "Add pictures with such objects as they stand in the missed ones (hidden, dark, at the "
        "edge), and look whether every object in the training pictures has its box: each one "
        "without teaches the model not to see it.",
    ),
    INVENTED: (
        "boxes where there is nothing",
        "Add pictures of what it takes for an object, without boxes, and look at them below: "
        "often an object is there that was never labelled.",
    ),
    WRONG_CLASS: (
        "objects that are found but called by the wrong name",
        "Add pictures of the classes that are mixed up which show what tells them apart, or make "
        "one class of them where the difference does not matter.",
    ),
    BADLY_PLACED: (
        "boxes that lie beside the object or are much too large or small",
        "Draw the boxes of the training pictures tight around the object, all in the same way; "
        "a larger input size may help as well.",
    ),
    DOUBLE: (
        "objects that are found twice",
        "Look whether training pictures have two boxes around one object, and add pictures with "
        "objects close to each other.",
    ),
    BOTH: (
        "boxes that are neither at the right place nor of the right class",
        "Add more pictures of these classes, with tight boxes.",
    ),
}


def findings(
    metrics: Mapping[str, Any], card: Mapping[str, Any], summary: Mapping[str, Any]
) -> list[Finding]:
    """Sentences of the report, the most important first. `summary` is the data set version's."""
    return [
        *_useless(metrics),
        *_overall(metrics),
        *_strong(metrics),
        *_weak(metrics),
        *_dominant_error(metrics),
        *_mixed_up(metrics),
        *_small(metrics),
        *_tightness(metrics),
        *_counting(metrics),
        *_threshold(metrics),
        *_thin(metrics),
        *_outside(metrics),
        *[Finding("advice", sentence(text)) for text in summary.get("advice", [])],
    ]


def is_useless(metrics: Mapping[str, Any]) -> bool:
    """Whether the model finds next to nothing: an AP50 below 0.1."""
    return metrics["ap50"] is not None and metrics["ap50"] < USELESS_AP50


def _useless(metrics: Mapping[str, Any]) -> list[Finding]:
    if metrics["ap50"] is None:
        return [
            Finding(
                "problem",
                f"Not one of {counted(metrics['samples'], 'test picture')} has an object of the "
                "model's classes, so nobody can say whether it finds any. Add test pictures with "
                "boxes before you use it.",
            )
        ]
    if not is_useless(metrics):
        return []
    return [
        Finding(
            "problem",
            "This model is of no use yet: it finds next to none of the objects (AP50 "
            f"{metrics['ap50']:.2f}, where 1 is perfect). Do not put it into service. Look whether "
            "the boxes lie on the objects and the names are right, give the training more minutes, "
            "and add pictures.",
        )
    ]


def _overall(metrics: Mapping[str, Any]) -> list[Finding]:
    if metrics["recall"] is None:
        return []
    hits = sum(row["hits"] for row in metrics["per_class"].values())
    found = sum(row["found"] for row in metrics["per_class"].values())
    boxes = metrics["boxes"]
    drawn = (
        f"Of the {f'{found:,} boxes' if found > 1 else 'one box'} that it draws, "
        f"{hits} {'is' if hits == 1 else 'are'} right ({percent(metrics['precision'])})."
        if found
        else "It draws no box at all."
    )
    return [
        Finding(
            "good" if metrics["f1"] >= STRONG else "problem",
            f"In {counted(metrics['samples'], 'test picture')} that the model had never seen, it "
            f"finds {hits} of {counted(boxes, 'object')} ({percent(metrics['recall'])}). {drawn} "
            f"Boxes count from a score of {percent(metrics['threshold'])} on.",
        )
    ]


def _strong(metrics: Mapping[str, Any]) -> list[Finding]:
    rows = metrics["per_class"]
    strong = [label for label, row in rows.items() if row["support"] and row["ap50"] >= STRONG]
    if not strong:
        return []
    if len(strong) == len(rows):
        which = "The class is" if len(rows) == 1 else f"All {len(rows)} classes are"
        return [Finding("good", f"{which} found well.")]
    strong.sort(key=lambda label: (-rows[label]["ap50"], label))
    return [Finding("good", f"Found well: {names(strong)}.")]


def _weak(metrics: Mapping[str, Any]) -> list[Finding]:
    return weak_classes(
        metrics["per_class"],
        WEAK_RECALL,
        MOST_NAMED,
        lambda label, row: (
            f"Of “{label}” only {row['hits']} of {counted(row['support'], 'object')} are found. "
            "Add pictures of it."
        ),
    )


def _dominant_error(metrics: Mapping[str, Any]) -> list[Finding]:
    errors = metrics["errors"]
    total = sum(errors.values())
    kind = max(errors, key=lambda name: errors[name])
    if errors[kind] < LEAST_ERRORS:
        return []
    what, advice = _ERRORS[kind]
    return [
        Finding(
            "advice",
            f"Most errors, {errors[kind]} of {total}, are {what}. {advice}",
        )
    ]


def _mixed_up(metrics: Mapping[str, Any]) -> list[Finding]:
    return [
        Finding(
            "advice",
            f"The model mixes up “{pair.truth}” with “{pair.answer}”: {pair.wrong} of "
            f"{pair.support} objects of “{pair.truth}” were called “{pair.answer}”.",
        )
        for pair in mixed_up(metrics["confusion"], MOST_NAMED, LEAST_MIXED, LEAST_MIXED_SHARE)
    ]


def _small(metrics: Mapping[str, Any]) -> list[Finding]:
    sizes = metrics["by_size"]
    small, rest = sizes["small"], [sizes["medium"], sizes["large"]]
    others = sum(row["boxes"] for row in rest)
    if small["boxes"] < FEW_TEST_BOXES or not others:
        return []
    recall = sum(row["hits"] for row in rest) / others
    if small["recall"] > recall - SMALL_GAP:
        return []
    return [
        Finding(
            "advice",
            f"Small objects (less than 32 × 32 pixels) are the hard ones: {percent(small['recall'])}"
            f" of them are found, of the larger ones {percent(recall)}. Take pictures from closer "
            "by or with more pixels.",
        )
    ]


def _tightness(metrics: Mapping[str, Any]) -> list[Finding]:
    ap50, ap = metrics["ap50"], metrics["ap"]
    if ap50 is None or ap50 < STRONG / 2 or ap >= LOOSE_SHARE * ap50:
        return []
    return [
        Finding(
            "advice",
            f"It sees where the objects are (AP50 {ap50:.2f}) but its boxes fit loosely (AP50:95 "
            f"{ap:.2f}). If their exact size matters, draw the training boxes tighter and all in "
            "the same way.",
        )
    ]


def _counting(metrics: Mapping[str, Any]) -> list[Finding]:
    rows, counts = metrics["per_class"], metrics["counts"]
    known = {label: row for label, row in rows.items() if row["count_error"] is not None}
    if counts["right"] is None or not known or metrics["ap50"] is None:
        return []
    worst = max(known, key=lambda label: (known[label]["count_error"], label))
    text = (
        f"Who counts with it gets the right numbers in {percent(counts['right'])} of the pictures."
    )
    if known[worst]["count_error"] > 0:
        text += (
            f" The number of “{worst}” is off by {known[worst]['count_error']:.1f} a picture on "
            "average, more than any other."
            if len(known) > 1
            else f" It is off by {known[worst]['count_error']:.1f} a picture on average."
        )
    return [Finding("good" if counts["right"] >= STRONG else "problem", text)]


def _threshold(metrics: Mapping[str, Any]) -> list[Finding]:
    if metrics["ap50"] is None or is_useless(metrics):
        return []
    return [
        Finding(
            "advice",
            f"The service shows boxes with a score of {percent(metrics['threshold'])} or more, "
            "where finding and being right are best balanced. Ask for a lower threshold in the "
            "request where a missed object costs more than a false alarm, for a higher one where "
            "it is the other way round.",
        )
    ]


def _thin(metrics: Mapping[str, Any]) -> list[Finding]:
    rows = metrics["per_class"]
    thin = [label for label, row in rows.items() if 0 < row["support"] < FEW_TEST_BOXES]
    found = []
    if metrics["missing_classes"] and metrics["ap50"] is not None:
        found.append(
            Finding(
                "problem",
                f"There is no test picture with {names(metrics['missing_classes'])}: how well it "
                "is found is unknown. Add pictures of it.",
            )
        )
    if thin:
        found.append(
            Finding(
                "advice",
                f"Fewer than {FEW_TEST_BOXES} objects in the test pictures: {names(thin)}. Take "
                "the figures of such a class as a rough guess; more pictures make them firm.",
            )
        )
    return found


def _outside(metrics: Mapping[str, Any]) -> list[Finding]:
    if not metrics["outside"]:
        return []
    return [
        Finding(
            "problem",
            "Not counted, because their label is one that the model never learnt: "
            f"{counted(metrics['outside'], 'object')}. Add training pictures of that class.",
        )
    ]
