"""The step `check`: judges every file, joins labels, finds duplicates, splits, commits a version.

python -m spark_jobs.check --build ID
"""

from __future__ import annotations

import logging
import sys
from collections import Counter
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from orchard.blobs import keys
from orchard.catalog import builds, changes, datasets
from orchard.catalog.connection import Document
from orchard.checking import summary
from orchard.checking.judging import Judging
from orchard.checking.manifest import MANIFEST_SCHEMA, census
from orchard.checking.names import canonical_names, renamed_labels
from orchard.errors import BadInput, TryAgain
from orchard.intake import FILES, LABELS, REFUSED
from orchard.names import NEWEST
from orchard.program import Step, run
from orchard.tasks import task as task_of
from orchard.tasks.base import Limits, Task
from spark_jobs import gathered, grouped, judged, labelled, placed, reported, sources, tables
from spark_jobs.session import session_of

logger = logging.getLogger(__name__)

_ROWS_A_FILE = 250_000


@dataclass(frozen=True)
class Check:
    """What the parts of the step share."""

    step: Step
    task: Task
    dataset: str
    intake: str
    work: str
    parent: Document | None

    @property
    def number(self) -> int:
        """Number of the version that is made, from 1."""
        return int(self.parent["summary"]["number"]) + 1 if self.parent else 1


def body(step: Step) -> dict[str, Any]:
    """Commit the version that this build's intake and the version before make together."""
    dataset = step.parameters["dataset"]
    intake = step.result_of("ingest")
    parent = _parent_of(step, dataset)
    if intake["format"] == NEWEST:
        if parent is None:
            raise BadInput(
                "This project has no data yet", value=dataset, way_out="Import a folder first"
            )
        return _finished(parent, "nothing was imported, it is the newest version as it is")
    check = Check(
        step=step,
        task=task_of(step.parameters["task"]),
        dataset=dataset,
        intake=keys.intake(step.owner, step.build_id),
        work=f"{keys.build(step.owner, step.build_id)}/check",
        parent=parent,
    )
    step.blobs.delete(check.work)
    with session_of("check") as session:
        committed = _check(check, session)
    step.blobs.delete(check.work)
    settled = [each["_id"] for each in step.build.get("changes") or []]
    changes.settle(step.documents, step.owner, settled, committed["version"])
    same = check.parent is not None and committed["version"] == check.parent["version"]
    return _finished(committed, "nothing is new in it" if same else "")


def _check(check: Check, session: SparkSession) -> Document:
    blobs = check.step.blobs
    files = tables.read(session, blobs, f"{check.intake}/files", FILES)
    parent = _parent_manifest(check, session)
    verdicts = _verdicts(check, session, files, parent)
    labels = tables.read(session, blobs, f"{check.intake}/labels", LABELS)
    counts = labelled.name_counts(labels, check.task)
    settled = sorted(check.parent["summary"]["labels"]) if check.parent else []
    names = canonical_names(counts, settled)
    occurring = _occurring(check, counts, names)
    joined = labelled.join_labels(labels, files, check.task, names, occurring)
    fresh = gathered.settle(gathered.gather(verdicts, joined.by_path), check.task, occurring)
    samples = gathered.merge(fresh, parent, check.number)
    tables.write(samples, blobs, f"{check.work}/samples")
    samples = session.read.parquet(blobs.url(f"{check.work}/samples"))
    facts = _facts_of(samples)
    logger.info(
        "%s samples: %s new, %s copies of others, %s with two labels, %s without label",
        *(f"{facts[name]:,}" for name in ("samples", "new", "copies", "conflicts", "unlabelled")),
    )
    kept = samples.filter("kept")
    groups = (
        _groups(check, session, kept)
        if facts["new"]
        else tables.empty(session, grouped.GROUP_SCHEMA)
    )
    told = sources.sources_of(session, kept, check.task, facts)
    manifest = placed.place(
        kept,
        groups,
        settled,
        test_hinted=bool(facts["test_hints"]),
        sources=told.table,
    )
    tables.write(_sorted(manifest, facts["samples"]), blobs, f"{check.work}/version/manifest")
    early = tables.read(session, blobs, f"{check.intake}/refused", REFUSED)
    late = [verdicts.filter("code is not null").select("path", "code", "reason")]
    late += [joined.refused] if joined.refused is not None else []
    late += [reported.conflicts_of(samples, verdicts)] if facts["conflicts"] else []
    late += [reported.unusable_labels(samples, verdicts)] if facts["unusable"] else []
    tables.write(reported.refused_rows(early, late), blobs, f"{check.work}/version/refused")
    return _commit(check, session, facts, renamed_labels(counts, names), dict(told.notices))


def _occurring(check: Check, counts: dict[str, int], names: dict[str, str]) -> dict[str, int]:
    """How often each class occurs, in the version before and in this intake together."""
    before = check.parent["summary"]["labels"] if check.parent else {}
    found = Counter({name: sum(splits.values()) for name, splits in before.items()})
    for spelling, count in counts.items():
        found[names[spelling]] += count
    return dict(found)


def _parent_manifest(check: Check, session: SparkSession) -> DataFrame:
    if check.parent is None:
        return tables.empty(session, MANIFEST_SCHEMA)
    key = keys.version(check.step.owner, check.dataset, check.parent["version"])
    return tables.read(session, check.step.blobs, f"{key}/manifest", MANIFEST_SCHEMA)


def _verdicts(
    check: Check, session: SparkSession, files: DataFrame, parent: DataFrame
) -> DataFrame:
    """VERDICT_SCHEMA for every file of the intake; what the parent holds is not read again."""
    using = check.step.settings
    judge = Judging(
        task=check.task,
        limits=Limits(
            maximum_pixels=using.maximum_pixels,
            maximum_bytes=using.maximum_picture_bytes,
            maximum_seconds=using.maximum_sound_seconds,
        ),
        blobs=check.step.blobs,
        owner=check.step.owner,
        dataset=check.dataset,
        segment_bytes=using.segment_bytes,
    )
    if check.parent is None:
        total = judged.intake_size(judge.blobs, check.intake)
        return judged.judge_files(session, files, total, judge, check.work)
    known, left = judged.known_verdicts(files, parent)
    fresh = judged.judge_files(session, left, left.count(), judge, check.work)
    return fresh.unionByName(known)


def _facts_of(samples: DataFrame) -> dict[str, int]:
    """The numbers that decide how to go on."""
    kept = F.col("kept")
    conditions = {
        "samples": kept,
        "new": kept & F.col("settled_split").isNull() & F.col("annotation").isNotNull(),
        "conflicts": F.col("conflict"),
        "unusable": F.col("code").isNotNull(),
        "unlabelled": kept & F.col("annotation").isNull(),
        "relabelled": F.col("relabelled"),
        "test_hints": F.col("hint") == "test",
        "origins": kept & F.col("annotation").isNotNull() & F.col("origin").isNotNull(),
        "several_origins": kept & F.col("annotation").isNotNull() & F.col("several_origins"),
    }
    columns = [F.count_if(condition).alias(name) for name, condition in conditions.items()]
    copies = F.coalesce(F.sum(F.greatest(F.col("copies") - 1, F.lit(0))), F.lit(0))
    row = samples.agg(*columns, copies.alias("copies")).first()
    return {name: int(value) for name, value in row.asDict().items()} if row else {}


def _groups(check: Check, session: SparkSession, kept: DataFrame) -> DataFrame:
    place = F.concat_ws(":", "settled_split", F.col("settled_fold").cast("string"))
    candidates = kept.filter(
        "annotation is not null and (settled_split is null or settled_split <> 'left_out')"
    ).select(
        "sample_id",
        "fingerprint",
        "settled_group",
        F.when(F.col("settled_split").isNotNull(), place).alias("settled_split"),
    )
    return grouped.near_groups(session, candidates, check.task, check.step.blobs, check.work)


def _sorted(manifest: DataFrame, rows: int) -> DataFrame:
    """Sorted by sample id across files: a sample id is a hash, so its first digits say which."""
    files = min(-(-max(rows, 1) // _ROWS_A_FILE), 256)
    first = F.conv(F.substring("sample_id", 1, 4), 16, 10).cast("bigint")
    return manifest.repartitionById(
        files, F.floor(first * files / 65536).cast("int")
    ).sortWithinPartitions("sample_id")


def _commit(
    check: Check,
    session: SparkSession,
    facts: dict[str, int],
    renamed: list[dict[str, object]],
    notices: dict[str, int],
) -> Document:
    step, blobs = check.step, check.step.blobs
    counted_rows = census(tables.batches(blobs, f"{check.work}/version/manifest"), check.task)
    if check.parent is not None and counted_rows.version == check.parent["version"]:
        return check.parent
    found = summary.make(
        counted_rows,
        task=check.task,
        number=check.number,
        facts=facts,
        renamed=renamed,
        refused=tables.batches(blobs, f"{check.work}/version/refused"),
        near=reported.look_alikes(
            tables.read(session, blobs, f"{check.work}/version/manifest", MANIFEST_SCHEMA),
            one_label=check.task.label_kind == "class",
        ),
    )
    found["notices"] = {**notices, **found["notices"]}
    blobs.write_json(f"{check.work}/version/summary.json", found)
    goal = keys.version(step.owner, check.dataset, counted_rows.version)
    if not blobs.rename_folder(f"{check.work}/version", goal) and not blobs.exists(goal):
        raise TryAgain("The version could not be moved to its place", value=goal)
    return datasets.commit_version(
        step.documents,
        step.owner,
        project=step.project,
        dataset=check.dataset,
        version=counted_rows.version,
        parent=check.parent["version"] if check.parent else None,
        build_id=step.build_id,
        summary=found,
    )


def _parent_of(step: Step, dataset: str) -> Document | None:
    """The version on which this build's own builds: the newest when the step ran first.

    It is noted in the build's document, so that a build that is cleared later, when others have
    committed versions of their own, gives its own version again.
    """
    if "parent" in step.build:
        noted = step.build["parent"]
        return noted and datasets.get_version(step.documents, step.owner, dataset, str(noted))
    newest = datasets.newest_version(step.documents, step.owner, dataset)
    version = newest["version"] if newest else None
    builds.set_fields(step.documents, step.owner, step.build_id, parent=version)
    return newest


def _finished(version: Document, remark: str) -> dict[str, Any]:
    """The step's facts. Raises BadInput where the version is not enough to train on."""
    found = version["summary"]
    refused = sum(found["refused"].values())
    for name, count in list(found["notices"].items())[:10]:
        logger.info("Notice, %s times: %s", f"{count:,}", name)
    text = f"Version {found['number']} ({version['version']}): {found['samples']:,} samples"
    classes = ", ".join(
        f"{name} {sum(n.values())}" for name, n in list(found["labels"].items())[:10]
    )
    logger.info("%s; %s", text, classes or "no classes")
    for line in found["advice"][:10]:
        logger.info("Advice: %s", line)
    if not found["trainable"]:
        raise BadInput(
            "The data are stored, but they are not enough to train on",
            value="; ".join(found["reasons"][:5]),
            way_out="Add what is missing and start again",
        )
    return {
        "version": version["version"],
        "number": found["number"],
        "samples": found["samples"],
        "accepted": found["samples"],
        "refused": refused,
        "summary": f"{text}, {refused:,} refused" + (f"; {remark}" if remark else ""),
    }


def main() -> int:
    return run("check", body)


if __name__ == "__main__":
    sys.exit(main())
