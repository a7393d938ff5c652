"""A real HDFS on loopback: one NameNode and some DataNodes, each a process of its own.

Processes are known by their number, listen on 127.0.0.1 and end with the test process. Default
times that would make a test wait for minutes are shortened: a DataNode counts as dead after some
seconds, and the NameNode leaves its safe mode as soon as it knows of all blocks.
"""

from __future__ import annotations

import contextlib
import ctypes
import getpass
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from xml.sax.saxutils import escape

from orchard.stack.java import java_home
from tests.cluster import jars

_LIBC = ctypes.CDLL(None)
_PR_SET_PDEATHSIG = 1
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))
_LOOPBACK = "127.0.0.1"
_SERVER = "org.apache.hadoop.hdfs.server"
_NAMENODE = f"{_SERVER}.namenode.NameNode"
_DATANODE = f"{_SERVER}.datanode.DataNode"
_STATE = "/jmx?qry=Hadoop:service=NameNode,name=FSNamesystemState"
_SECONDS_TO_START = 900.0
"""A busy machine makes any start slow; a process that has ended is told at once."""
_SECONDS_TO_END = 20.0
_PORTS = range(20_000, 32_000)
"""Below those that the kernel gives to outgoing connections: a server's port stays free when it is
down for a while."""


class NotReady(RuntimeError):
    """A server did not come up; the text holds the end of its log."""


def _ports(count: int) -> list[int]:
    """Ports on loopback that are free at this moment."""
    found: list[int] = []
    for port in random.SystemRandom().sample(_PORTS, len(_PORTS)):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind((_LOOPBACK, port))
            found.append(port)
        if len(found) == count:
            return found
    raise NotReady(f"There are no {count} free ports")


@dataclass
class Hdfs:
    """One cluster below a folder.

    Args:
        folder: where everything lies: configuration, data, logs.
        datanodes: how many DataNodes it has.
        replication: on how many of them a block lies.
    """

    folder: Path
    datanodes: int = 2
    replication: int = 2
    _processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._jars = jars.hadoop()
        home = java_home()
        if home is None:
            raise NotReady("HDFS needs Java 17 or later")
        self._java = home / "bin" / "java"
        self._rpc, self._http, *rest = _ports(2 + 3 * self.datanodes)
        self._datanode_ports = [rest[3 * n : 3 * n + 3] for n in range(self.datanodes)]

    @property
    def uri(self) -> str:
        """Address of the file system, without a slash at the end."""
        return f"hdfs://{_LOOPBACK}:{self._rpc}"

    @property
    def configuration(self) -> Path:
        """Folder of core-site.xml and hdfs-site.xml, for clients too (HADOOP_CONF_DIR)."""
        return self.folder / "conf"

    def start(self) -> None:
        """Format the name directory on the first call, start everything, wait until it works."""
        self._configure()
        if not (self.folder / "names").exists():
            self._format()
        self.start_namenode()
        for number in range(self.datanodes):
            self.start_datanode(number)
        self.wait_until_ready()

    def stop(self) -> None:
        """End every process; what they stored stays."""
        for process in self._processes.values():
            process.terminate()
        for process in self._processes.values():
            try:
                process.wait(_SECONDS_TO_END)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._processes.clear()

    def remove(self) -> None:
        """End every process and remove the folder."""
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def start_namenode(self) -> None:
        """Start the NameNode on the name directory as it is."""
        self._start("namenode", _NAMENODE)

    def start_datanode(self, number: int) -> None:
        """Start the DataNode of this number, from 0, on its own data."""
        data, http, ipc = self._datanode_ports[number]
        options = {
            "dfs.datanode.data.dir": f"file://{self.folder / f'data-{number}'}",
            "dfs.datanode.hostname": _LOOPBACK,
            "dfs.datanode.address": f"{_LOOPBACK}:{data}",
            "dfs.datanode.http.address": f"{_LOOPBACK}:{http}",
            "dfs.datanode.ipc.address": f"{_LOOPBACK}:{ipc}",
        }
        arguments = [part for key, value in options.items() for part in ("-D", f"{key}={value}")]
        self._start(f"datanode-{number}", _DATANODE, arguments)

    def kill_namenode(self) -> None:
        """SIGKILL, as when the machine loses its power."""
        self._end("namenode", signal.SIGKILL)

    def kill_datanode(self, number: int) -> None:
        """The same of a DataNode."""
        self._end(f"datanode-{number}", signal.SIGKILL)

    def restore(self) -> None:
        """Start what is not running; wait until everything works and every block lies twice."""
        if "namenode" not in self._processes:
            self.start_namenode()
        for number in range(self.datanodes):
            if f"datanode-{number}" not in self._processes:
                self.start_datanode(number)
        self.wait_until_ready()
        self.wait_until_healthy()

    def wait_until_ready(self, datanodes: int | None = None) -> None:
        """Until the NameNode is out of its safe mode and has exactly so many live DataNodes."""
        wanted = self.datanodes if datanodes is None else datanodes

        def ready() -> bool:
            state = self.state()
            return state.get("FSState") == "Operational" and (
                state.get("NumLiveDataNodes") == wanted
            )

        self.wait_for(ready, f"{wanted} live DataNodes")

    def wait_until_healthy(self) -> None:
        """Until every block lies on as many DataNodes as it should."""

        def healthy() -> bool:
            state = self.state()
            return (
                state.get("UnderReplicatedBlocks") == 0
                and state.get("PendingReplicationBlocks") == 0
            )

        self.wait_for(healthy, "no block with too few replicas")

    def wait_for(self, condition: Callable[[], bool], what: str) -> None:
        """Until a condition holds. Raises NotReady with the logs' ends where it never does."""
        ends = time.monotonic() + _SECONDS_TO_START
        while not condition():
            dead = [name for name, one in self._processes.items() if one.poll() is not None]
            if dead or time.monotonic() > ends:
                logs = "\n\n".join(self._log(name).read_text()[-800:] for name in self._processes)
                raise NotReady(f"HDFS has not: {what}; ended: {dead}; logs:\n{logs}")
            time.sleep(0.1)

    def state(self) -> Mapping[str, object]:
        """What the NameNode says of itself; empty where it does not answer."""
        try:
            with _DIRECT.open(f"http://{_LOOPBACK}:{self._http}{_STATE}", timeout=5) as reply:
                beans = json.load(reply)["beans"]
        except (OSError, ValueError):
            return {}
        return beans[0] if beans else {}

    def _configure(self) -> None:
        self.configuration.mkdir(parents=True, exist_ok=True)
        (self.folder / "logs").mkdir(exist_ok=True)
        (self.folder / "temporary").mkdir(exist_ok=True)
        shutil.copy(Path(__file__).with_name("hadoop") / "log4j.properties", self.configuration)
        core = {
            "fs.defaultFS": self.uri,
            "hadoop.tmp.dir": self.folder / "temporary",
            "hadoop.http.staticuser.user": getpass.getuser(),
            "ipc.client.connect.max.retries": 2,
        }
        hdfs = {
            "dfs.namenode.name.dir": f"file://{self.folder / 'names'}",
            "dfs.namenode.rpc-bind-host": _LOOPBACK,
            "dfs.namenode.http-address": f"{_LOOPBACK}:{self._http}",
            "dfs.namenode.datanode.registration.ip-hostname-check": "false",
            "dfs.permissions.enabled": "false",
            "dfs.replication": self.replication,
            "dfs.namenode.replication.min": 1,
            "dfs.namenode.safemode.extension": 0,
            # a DataNode is dead after 2 × recheck + 10 × heartbeat = 14 s; the default is 10.5 min
            "dfs.heartbeat.interval": 1,
            "dfs.namenode.heartbeat.recheck-interval": 2000,
            "dfs.namenode.stale.datanode.interval": 3000,
            "dfs.namenode.stale.datanode.minimum.interval": 3,
            "dfs.namenode.avoid.read.stale.datanode": "true",
            "dfs.namenode.avoid.write.stale.datanode": "true",
            "dfs.namenode.redundancy.interval.seconds": "1s",
            # a copy that was ordered and did not come is ordered again; the default is 5 min
            "dfs.namenode.reconstruction.pending.timeout-sec": 5,
            "dfs.namenode.fs-limits.min-block-size": 1048576,
            "dfs.blocksize": 33554432,
            "dfs.datanode.handler.count": 4,
            "dfs.datanode.max.transfer.threads": 512,
            # with two DataNodes there is no third to take a dead one's place in a pipeline
            "dfs.client.block.write.replace-datanode-on-failure.best-effort": "true",
            "dfs.client.socket-timeout": 10000,
        }
        _write_configuration(self.configuration / "core-site.xml", core)
        _write_configuration(self.configuration / "hdfs-site.xml", hdfs)

    def _format(self) -> None:
        done = subprocess.run(
            [*self._command(_NAMENODE), "-format", "-nonInteractive", "-clusterid", "tests"],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise NotReady(f"The NameNode could not be formatted: {done.stderr[-1500:]}")

    def _command(self, program: str) -> list[str]:
        return [
            str(self._java),
            *("-Xmx192m", "-Xms32m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"),
            *("-Xshare:auto", "-Djava.net.preferIPv4Stack=true"),
            f"-Dhadoop.log.dir={self.folder / 'logs'}",
            f"-Djava.io.tmpdir={self.folder / 'temporary'}",
            *("-cp", f"{self.configuration}:{self._jars}/*", program),
        ]

    def _log(self, name: str) -> Path:
        return self.folder / "logs" / f"{name}.log"

    def _start(self, name: str, program: str, arguments: list[str] | None = None) -> None:
        with self._log(name).open("ab") as log:
            self._processes[name] = subprocess.Popen(
                [*self._command(program), *(arguments or [])],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                preexec_fn=_end_with(os.getpid()),
            )

    def _end(self, name: str, number: signal.Signals) -> None:
        process = self._processes.pop(name)
        process.send_signal(number)
        process.wait()


def _end_with(parent: int) -> Callable[[], None]:
    """What a new process does first: have the kernel end it when the test process ends."""

    def prepare() -> None:
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)

    return prepare


def _write_configuration(path: Path, values: Mapping[str, object]) -> None:
    properties = "".join(
        f"<property><name>{name}</name><value>{escape(str(value))}</value></property>\n"
        for name, value in values.items()
    )
    path.write_text(f"<configuration>\n{properties}</configuration>\n")
