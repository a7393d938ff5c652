"""Tar archives, plain and compressed."""

from __future__ import annotations

import gzip
import io
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orchard.errors import BadInput
from orchard.sources import Limits, Refusal
from orchard.sources.tar_archive import TarSource, is_tar, not_tar
from tests.orchard.sources.helpers import LIMITS, MEBIBYTE, contents, refusals, write_tar

FILES = {"a/1.jpg": b"one", "a/2.jpg": b"", "b/3.jpg": b"x" * 512, "b/ü/4.jpg": b"y" * 70_000}


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
def test_it_reads_what_was_packed(tmp_path: Path, mode: str) -> None:
    source = TarSource(write_tar(tmp_path / "a.tar", FILES, mode), LIMITS)
    assert contents(source) == FILES
    assert contents(source) == FILES
    wanted = [
        found[0].path
        for found in source.walk(lambda entry: entry.path == "b/3.jpg")
        if not isinstance(found, Refusal) and found[1] == FILES["b/3.jpg"]
    ]
    assert wanted == ["b/3.jpg"]


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.integers(0, 2000), max_size=8))
def test_any_sizes(tmp_path: Path, sizes: list[int]) -> None:
    files = {f"{n}.jpg": bytes([n]) * size for n, size in enumerate(sizes)}
    assert contents(TarSource(write_tar(tmp_path / "a.tar", files), LIMITS)) == files


def test_odd_members_are_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w") as archive:
        for name, kind in [
            ("a/symbolic.jpg", tarfile.SYMTYPE),
            ("a/hard.jpg", tarfile.LNKTYPE),
            ("a/device.jpg", tarfile.CHRTYPE),
            ("a/pipe.jpg", tarfile.FIFOTYPE),
        ]:
            info = tarfile.TarInfo(name)
            info.type = kind
            info.linkname = "/etc/passwd"
            archive.addfile(info)
        for name, payload in [("a/1.jpg", b"1"), ("a/1.jpg", b"2"), ("a/b.tar.gz", b"3")]:
            info = tarfile.TarInfo(name)
            info.size = 1
            archive.addfile(info, io.BytesIO(payload))
        big = tarfile.TarInfo("a/big.jpg")
        big.size = 9 * MEBIBYTE
        archive.addfile(big, io.BytesIO(bytes(big.size)))
    source = TarSource(path, LIMITS)
    assert refusals(source) == {
        "a/symbolic.jpg": "link",
        "a/hard.jpg": "link",
        "a/device.jpg": "special_file",
        "a/pipe.jpg": "special_file",
        "a/1.jpg": "duplicate_name",
        "a/b.tar.gz": "nested_archive",
        "a/big.jpg": "too_large",
    }
    assert contents(source) == {"a/1.jpg": b"1"}


@pytest.mark.parametrize("name", ["../x.jpg", "/x.jpg", "a/../../x.jpg"])
def test_a_name_that_leads_out_refuses_the_whole_archive(tmp_path: Path, name: str) -> None:
    source = TarSource(write_tar(tmp_path / "a.tar", {"ok.jpg": b"1", name: b"2"}), LIMITS)
    with pytest.raises(BadInput, match="The archive holds") as caught:
        contents(source)
    assert caught.value.value == name


def test_names_in_gbk(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w", encoding="gbk", format=tarfile.GNU_FORMAT) as archive:
        info = tarfile.TarInfo("正常/一.jpg")
        info.size = 3
        archive.addfile(info, io.BytesIO(b"one"))
    source = TarSource(path, LIMITS)
    assert contents(source) == {"正常/一.jpg": b"one"}
    assert source.notices == {"Names without a stated encoding were read as GBK": 1}


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
@pytest.mark.parametrize("share", [0.3, 0.6, 0.95])
def test_a_truncated_archive_is_refused_whole(tmp_path: Path, mode: str, share: float) -> None:
    files = {f"{n}.jpg": bytes(range(256)) * 20 for n in range(30)}
    path = write_tar(tmp_path / "a.tar", files, mode)
    content = path.read_bytes()
    # The end of a plain tar archive is padded with zeros, which may well be missing.
    length = content.rindex(b"\xff") if mode == "w" else len(content)
    path.write_bytes(content[: int(length * share)])
    with pytest.raises(BadInput, match="damaged or was cut off"):
        contents(TarSource(path, LIMITS))


def test_an_archive_cut_between_two_members_is_refused(tmp_path: Path) -> None:
    path = write_tar(tmp_path / "a.tar", {"a.jpg": b"1" * 512, "b.jpg": b"2" * 512})
    path.write_bytes(path.read_bytes()[:1024])
    with pytest.raises(BadInput, match="damaged or was cut off"):
        contents(TarSource(path, LIMITS))


def test_damage_in_the_middle_is_noticed(tmp_path: Path) -> None:
    path = write_tar(tmp_path / "a.tar", {"a.jpg": b"1" * 512, "b.jpg": b"2" * 512})
    content = bytearray(path.read_bytes())
    content[1024 + 148] ^= 0xFF
    path.write_bytes(content)
    with pytest.raises(BadInput, match="damaged or was cut off"):
        contents(TarSource(path, LIMITS))


def test_a_bomb_is_refused_while_it_unpacks(tmp_path: Path) -> None:
    path = write_tar(tmp_path / "a.tar", {"zeros.bin": bytes(16 * MEBIBYTE)}, "w:gz")
    with pytest.raises(BadInput, match="archive bomb"):
        refusals(TarSource(path, LIMITS))
    small = Limits(archive_bytes=2000, archive_ratio=1000, entry_bytes=100, entries=10)
    with pytest.raises(BadInput, match="too large when unpacked"):
        refusals(TarSource(write_tar(tmp_path / "b.tar", FILES, "w:gz"), small))


def test_too_many_members_are_refused(tmp_path: Path) -> None:
    limits = Limits(archive_bytes=MEBIBYTE, archive_ratio=1000, entry_bytes=100, entries=3)
    with pytest.raises(BadInput, match="too many files"):
        refusals(TarSource(write_tar(tmp_path / "a.tar", FILES), limits))


def test_a_header_that_is_too_long_is_not_held(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as archive:
        info = tarfile.TarInfo("a.jpg")
        info.pax_headers = {"comment": "x" * 9 * MEBIBYTE}
        archive.addfile(info)
    with pytest.raises(BadInput, match="headers that are too long"):
        refusals(TarSource(path, LIMITS))


def test_what_is_a_tar(tmp_path: Path) -> None:
    assert is_tar(write_tar(tmp_path / "a.tar", FILES).read_bytes()[:512])
    assert not is_tar(b"x" * 512)
    assert not is_tar(b"")
    packed = tmp_path / "a.gz"
    packed.write_bytes(gzip.compress(b"just a text" * 100))
    error = not_tar(packed, LIMITS)
    assert error is not None
    assert "holds no tar archive" in str(error)
    assert not_tar(write_tar(tmp_path / "b.tar.gz", FILES, "w:gz"), LIMITS) is None


MEASURE = """
import resource, sys
from pathlib import Path
from orchard.sources import Limits, Refusal
from orchard.sources.tar_archive import TarSource
limits = Limits(archive_bytes=1 << 33, archive_ratio=1e6, entry_bytes=1 << 20, entries=1 << 20)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
count = sum(1 for _ in TarSource(Path(sys.argv[1]), limits).walk(lambda entry: True))
print(count, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_memory_stays_flat_over_twenty_thousand_members(tmp_path: Path) -> None:
    path = tmp_path / "a.tar.gz"
    with tarfile.open(path, "w:gz", compresslevel=1) as archive:
        for number in range(20_000):
            info = tarfile.TarInfo(f"class-{number % 10}/{number}.jpg")
            info.size = 100
            archive.addfile(info, io.BytesIO(b"%100d" % number))
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, str(path)], capture_output=True, text=True, check=True
    )
    count, grown = map(int, done.stdout.split())
    assert count == 20_000
    assert grown < 12_000, f"{grown} KB more"
