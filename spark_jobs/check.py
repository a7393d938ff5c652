"""The step `check`: judges every file, joins labels, finds duplicates, splits, commits a version.

python -m spark_jobs.check --build ID
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from orchard.blobs import keys
from orchard.catalog import datasets
from orchard.catalog.connection import Document
from orchard.checking import judging, summary
from orchard.checking.manifest import MANIFEST_SCHEMA, REFUSED_SCHEMA, census
from orchard.checking.names import canonical_names, renamed_labels
from orchard.errors import BadInput
from orchard.program import Step, run
from orchard.tasks import task as task_of
from orchard.tasks.base import Limits, Task
from spark_jobs import gathered, grouped, labelled, placed, tables
from spark_jobs.progress import counted, task_count
from spark_jobs.session import cores, session_of

logger = logging.getLogger(__name__)

_MOST_FILES_A_TASK = 500
_ROWS_A_FILE = 250_000
_SHOWN = 50


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

    @property
    def parent_key(self) -> str | None:
        if self.parent is None:
            return None
        return keys.version(self.step.owner, self.dataset, self.parent["version"])


def body(step: Step) -> dict[str, Any]:
    """Commit the version that this build's intake and the version before make together."""
    dataset = step.parameters["dataset"]
    intake = step.result_of("ingest")
    newest = datasets.newest_version(step.documents, step.owner, dataset)
    if intake["format"] == "newest":
        if newest is None:
            raise BadInput(
                "This project has no data yet", value=dataset, way_out="Import a folder first"
            )
        return _finished(newest, "nothing was imported, it is the newest version as it is")
    if newest is not None and newest["build_id"] == step.build_id:
        newest = _parent_of(step, dataset, newest)
    check = Check(
        step=step,
        task=task_of(step.parameters["task"]),
        dataset=dataset,
        intake=keys.intake(step.owner, step.build_id),
        work=f"{keys.build(step.owner, step.build_id)}/check",
        parent=newest,
    )
    step.blobs.delete(check.work)
    with session_of("check") as session:
        committed = _check(check, session)
    step.blobs.delete(check.work)
    same = check.parent is not None and committed["version"] == check.parent["version"]
    return _finished(committed, "nothing is new in it" if same else "")


def _check(check: Check, session: SparkSession) -> Document:
    blobs = check.step.blobs
    verdicts = _judge(check, session)
    parent = (
        tables.read(session, blobs, f"{check.parent_key}/manifest", MANIFEST_SCHEMA)
        if check.parent_key
        else tables.empty(session, MANIFEST_SCHEMA)
    )
    labels = tables.read(session, blobs, f"{check.intake}/labels", labelled.LABEL_SCHEMA)
    counts = labelled.name_counts(labels, check.task)
    settled = sorted(check.parent["summary"]["labels"]) if check.parent else []
    names = canonical_names(counts, settled)
    joined = labelled.join_labels(labels, _files(check, session), check.task, names)
    samples = gathered.merge(gathered.gather(verdicts, joined.by_path), parent, check.number)
    tables.write(samples, blobs, f"{check.work}/samples")
    samples = session.read.parquet(blobs.url(f"{check.work}/samples"))
    facts = _facts_of(samples)
    logger.info(
        "%s samples: %s new, %s copies of others, %s with two labels, %s without label",
        *(f"{facts[name]:,}" for name in ("samples", "new", "copies", "conflicts", "unlabelled")),
    )
    kept = samples.filter("not conflict")
    groups = (
        _groups(check, session, kept)
        if facts["new"]
        else tables.empty(session, grouped.GROUP_SCHEMA)
    )
    manifest = placed.place(kept, groups, settled, test_hinted=bool(facts["test_hints"]))
    tables.write(_sorted(manifest, facts["samples"]), blobs, f"{check.work}/version/manifest")
    conflicts = _conflicts(samples, verdicts) if facts["conflicts"] else None
    refused = _refused(check, session, verdicts, joined, conflicts)
    tables.write(refused, blobs, f"{check.work}/version/refused")
    return _commit(check, session, facts, renamed_labels(counts, names))


def _files(check: Check, session: SparkSession) -> DataFrame:
    return tables.read(session, check.step.blobs, f"{check.intake}/files", labelled.FILE_SCHEMA)


def _judge(check: Check, session: SparkSession) -> DataFrame:
    """VERDICT_SCHEMA for every file of the intake; what the parent has judged is not read again."""
    step = check.step
    files = _files(check, session)
    total = tables.row_count(step.blobs, f"{check.intake}/files")
    known: DataFrame | None = None
    if check.parent_key is not None:
        parent = tables.read(session, step.blobs, f"{check.parent_key}/manifest", MANIFEST_SCHEMA)
        old = parent.select(
            "sample_id", "segment", "offset", "length", "width", "height", "fingerprint", "notices"
        )
        known = (
            files.select("path", "split", F.col("sha256").alias("sample_id"))
            .join(old, "sample_id")
            .withColumns({"code": F.lit(None), "reason": F.lit(None)})
            .select(
                *(
                    F.col(f.name).cast(f.dataType)
                    for f in tables.spark_schema(judging.VERDICT_SCHEMA)
                )
            )
        )
        files = files.join(old.select(F.col("sample_id").alias("sha256")), "sha256", "left_anti")
        files = files.select(*labelled.FILE_SCHEMA.names)
        total = files.count()
    using = step.settings
    judge = judging.Judging(
        task=check.task,
        limits=Limits(
            maximum_pixels=using.maximum_pixels,
            maximum_bytes=using.maximum_picture_bytes,
            maximum_seconds=using.maximum_sound_seconds,
        ),
        blobs=step.blobs,
        owner=step.owner,
        dataset=check.dataset,
        segment_bytes=using.segment_bytes,
    )
    tasks = task_count(total, cores(session), _MOST_FILES_A_TASK)
    logger.info("Judging %s %ss in %d tasks", f"{total:,}", check.task.sample_word, tasks)
    with counted(session, f"{check.task.sample_word}s judged", total) as count:

        def judged(batches: Iterable[pa.RecordBatch]) -> Iterable[pa.RecordBatch]:
            return judging.judged(batches, judge, count)

        verdicts = (
            files.repartition(tasks, "path")
            .sortWithinPartitions("segment", "offset")
            .mapInArrow(judged, tables.spark_schema(judging.VERDICT_SCHEMA))
        )
        tables.write(verdicts, step.blobs, f"{check.work}/verdicts")
    fresh = tables.read(session, step.blobs, f"{check.work}/verdicts", judging.VERDICT_SCHEMA)
    return fresh if known is None else fresh.unionByName(known)


def _facts_of(samples: DataFrame) -> dict[str, int]:
    """The numbers that decide how to go on."""
    kept = ~F.col("conflict")
    conditions = {
        "samples": kept,
        "new": kept & F.col("settled_split").isNull() & F.col("annotation").isNotNull(),
        "conflicts": F.col("conflict"),
        "unlabelled": kept & F.col("annotation").isNull(),
        "relabelled": F.col("relabelled"),
        "test_hints": F.col("hint") == "test",
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


def _conflicts(samples: DataFrame, verdicts: DataFrame) -> DataFrame:
    """Every file whose content carries two labels, with them."""
    labels = F.array_join(F.transform("verdicts", lambda v: v["label"]), " and ")
    found = samples.filter("conflict").select("sample_id", labels.alias("labels"))
    return (
        verdicts.filter("code is null")
        .join(found, "sample_id")
        .select(
            "path",
            F.lit("conflicting_labels").alias("code"),
            F.concat(
                F.lit("The same content is labelled "),
                "labels",
                F.lit("; all of its files are left out"),
            ).alias("reason"),
        )
    )


def _refused(
    check: Check,
    session: SparkSession,
    verdicts: DataFrame,
    labels: labelled.Labels,
    conflicts: DataFrame | None,
) -> DataFrame:
    """REFUSED_SCHEMA of all that did not come in, sorted by path, in one file."""
    early = tables.read(session, check.step.blobs, f"{check.intake}/refused", REFUSED_SCHEMA)
    late = [verdicts.filter("code is not null").select("path", "code", "reason")]
    late += [each for each in (labels.refused, conflicts) if each is not None]
    checked = reduce(DataFrame.unionByName, late).withColumn("stage", F.lit("check"))
    return early.unionByName(checked).repartition(1).sortWithinPartitions("path", "code")


def _commit(
    check: Check, session: SparkSession, facts: dict[str, int], renamed: list[dict[str, object]]
) -> Document:
    step, blobs = check.step, check.step.blobs
    counted_rows = census(tables.batches(blobs, f"{check.work}/version/manifest"))
    if check.parent is not None and counted_rows.version == check.parent["version"]:
        return check.parent
    found = summary.make(
        counted_rows,
        task=check.task,
        number=check.number,
        facts=facts,
        renamed=renamed,
        refused=tables.batches(blobs, f"{check.work}/version/refused"),
        near=_near_report(check, session),
    )
    blobs.write_json(f"{check.work}/version/summary.json", found)
    goal = keys.version(step.owner, check.dataset, counted_rows.version)
    blobs.rename_folder(f"{check.work}/version", goal)
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


def _near_report(check: Check, session: SparkSession) -> dict[str, Any]:
    """How many groups have several members, and the first that hold more than one label."""
    manifest = tables.read(
        session, check.step.blobs, f"{check.work}/version/manifest", MANIFEST_SCHEMA
    )
    groups = (
        manifest.groupBy("group")
        .agg(
            F.count(F.lit(1)).alias("members"),
            F.sort_array(F.collect_set("label")).alias("labels"),
            F.slice(F.sort_array(F.collect_list("path")), 1, 4).alias("paths"),
        )
        .filter("members > 1")
    )
    left_out = manifest.filter("split = 'left_out'").orderBy("path").select("path")
    across = groups.filter("size(labels) > 1").orderBy("group").limit(_SHOWN).collect()
    return {
        "groups": groups.count(),
        "across_labels": [
            {"group": row["group"], "labels": row["labels"], "paths": row["paths"]}
            for row in across
        ],
        "left_out": [row["path"] for row in left_out.limit(_SHOWN).collect()],
    }


def _parent_of(step: Step, dataset: str, version: Document) -> Document | None:
    if version["parent"] is None:
        return None
    return datasets.get_version(step.documents, step.owner, dataset, version["parent"])


def _finished(version: Document, remark: str) -> dict[str, Any]:
    """The step's facts. Raises BadInput where the version is not enough to train on."""
    found = version["summary"]
    refused = sum(found["refused"].values())
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
