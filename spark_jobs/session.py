"""Starts Spark for one step: quiet, small, with workers that find this project's code.

What the JVM prints goes to a file below the settings' home; the step's own lines stay readable.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from orchard.errors import BadInput, NotFound, OrchardError, TryAgain
from orchard.settings import REPOSITORY, Settings, settings

logger = logging.getLogger(__name__)

_LOGGING = Path(__file__).with_name("log4j2.properties")
_RECORDS_PER_BATCH = 64
_SHUFFLE_PARTITIONS = 4
_OUTPUT_TAIL = 2000
_SECONDS_TO_END = 30.0

_KINDS = {kind.__name__: kind for kind in (BadInput, NotFound, OrchardError, TryAgain)}
_OURS = re.compile(rf"orchard\.errors\.(?P<kind>{'|'.join(_KINDS)}): (?P<text>.*)")

_AWAY = re.compile(
    r"(?:java\.net\.(?:Connect|NoRouteToHost|UnknownHost|SocketTimeout)"
    r"|org\.apache\.hadoop\.(?:ipc\.(?:Standby|Retriable)"
    r"|hdfs\.server\.namenode\.SafeMode|hdfs\.BlockMissing))Exception[^\n]*"
)
"""Java's words for an HDFS that is away, starts or misses DataNodes."""

_current: SparkSession | None = None


def class_archive(using: Settings) -> Path:
    """Where the archive of the JVM's loaded classes lies; it shortens the start where it exists."""
    return using.home / "spark" / "classes.jsa"


def spark(step: str, *, java_options: str | None = None) -> SparkSession:
    """A Spark session for a step, made on the first call of the process.

    Args:
        step: the step's name; names the application and the file of the JVM's output.
        java_options: options of the JVM in place of the class archive's.

    Raises:
        OrchardError: the JVM did not start; the end of its output is the value.
    """
    global _current
    if _current is not None:
        return _current
    started = time.monotonic()
    using = settings()
    folder = using.home / "spark"
    (folder / "local").mkdir(parents=True, exist_ok=True)
    output = folder / f"{step}.log"
    conf = _configuration(step, using, java_options)
    os.environ["PYSPARK_PYTHON"] = sys.executable  # the only place where PySpark looks for it
    try:
        with output.open("wb") as file:
            launch: Any = launch_gateway
            gateway = launch(conf, popen_kwargs={"stdout": file, "stderr": file})
        session = SparkSession(SparkContext(conf=conf, gateway=gateway))
    except Exception as error:
        said = output.read_text(errors="replace")[-_OUTPUT_TAIL:] if output.exists() else ""
        raise OrchardError(
            "Spark did not start",
            value=said or str(error),
            way_out="Java 17 or later is needed: see `java -version`",
        ) from error
    _current = session
    logger.info("Spark is up (%s) after %.1f s", using.spark_master, time.monotonic() - started)
    return session


@contextlib.contextmanager
def session_of(step: str) -> Iterator[SparkSession]:
    """A session that ends with the block, unless the process had it before.

    Raises:
        OrchardError: a worker met one of the project's own errors; its kind is kept.
        TryAgain: HDFS is away.
    """
    owned = _current is None
    session = spark(step)
    try:
        yield session
    except (PySparkException, Py4JJavaError) as error:
        text = str(error)
        said = _OURS.search(text)
        if said is not None:
            raise _KINDS[said["kind"]](said["text"].strip()) from error
        away = _AWAY.search(text)
        if away is None:
            raise
        raise TryAgain(
            "Spark could not use the store of bytes",
            value=away.group()[:300],
            way_out="Bring HDFS back; the step is tried again",
        ) from error
    finally:
        if owned:
            end(session)


def end(session: SparkSession, seconds: float = _SECONDS_TO_END) -> None:
    """Stop the session and its JVM, and wait until it is gone; it is killed after `seconds`."""
    global _current
    _current = None
    context = session.sparkContext
    gateway: Any = context._gateway
    session.stop()
    SparkContext._gateway = SparkContext._jvm = None
    gateway.shutdown()
    with contextlib.suppress(OSError):
        gateway.proc.stdin.close()
    try:
        gateway.proc.wait(seconds)
    except subprocess.TimeoutExpired:
        gateway.proc.kill()


def cores(session: SparkSession) -> int:
    """How many tasks run at once."""
    return max(int(session.sparkContext.defaultParallelism), 1)


def _configuration(step: str, using: Settings, java_options: str | None) -> SparkConf:
    archive = class_archive(using)
    if java_options is None:
        java_options = (
            f"-XX:SharedArchiveFile={archive} -Xshare:auto -Xlog:cds=off -Xlog:cds+dynamic=off"
            if archive.exists()
            else ""
        )
    options = f"{using.spark_java_options} {java_options} -Dlog4j2.configurationFile={_LOGGING}"
    values: dict[str, Any] = {
        "spark.app.name": f"orchard {step}",
        "spark.master": using.spark_master,
        "spark.driver.memory": using.spark_driver_memory,
        "spark.driver.extraJavaOptions": " ".join(options.split()),
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.local.dir": using.home / "spark" / "local",
        "spark.sql.warehouse.dir": using.home / "spark" / "warehouse",
        "spark.executorEnv.PYTHONPATH": REPOSITORY,
        "spark.executorEnv.OMP_NUM_THREADS": "1",
        "spark.python.worker.reuse": "true",
        "spark.sql.execution.arrow.maxRecordsPerBatch": _RECORDS_PER_BATCH,
        "spark.sql.shuffle.partitions": _SHUFFLE_PARTITIONS,
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.parquet.compression.codec": "zstd",
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
        "spark.sql.files.maxPartitionBytes": "1g",
        "spark.hadoop.mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
        "spark.hadoop.parquet.enable.summary-metadata": "false",
        # HDFS: away is told within seconds; with few DataNodes, what is left of them is enough
        "spark.hadoop.ipc.client.connect.max.retries": "3",
        "spark.hadoop.dfs.client.block.write.replace-datanode-on-failure.best-effort": "true",
        "spark.task.maxFailures": "1",
    }
    if not using.spark_master.startswith("local"):
        for key in ("spark.driver.bindAddress", "spark.driver.host", "spark.task.maxFailures"):
            del values[key]
    conf = SparkConf(loadDefaults=True)
    for key, value in values.items():
        conf.set(key, str(value))
    return conf
