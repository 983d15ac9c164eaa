"""What paths lead to: folders, archives, compressed, broken and hostile files."""

import bz2
import gzip
import io
import lzma
import os
import pickle
import shutil
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

import pytest

from suites.diagnose.evidence import archive
from suites.diagnose.evidence.source import Source, sources
from suites.diagnose.facts import Unread, Who

NOBODY_ID = 65534


def contents(*paths: Path | str) -> dict[str, bytes | str]:
    """Name -> bytes, or why there are none."""
    told: dict[str, bytes | str] = {}
    for one in sources([str(path) for path in paths]):
        if isinstance(one, Unread):
            told[one.file] = one.why
        else:
            with one.open() as stream:
                told[one.name] = stream.read()
    return told


def tarred(members: dict[str, bytes], mode: str = "w") -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode=mode) as tar:  # type: ignore[call-overload]
        for name, data in members.items():
            told = tarfile.TarInfo(name)
            told.size = len(data)
            tar.addfile(told, io.BytesIO(data))
    return packed.getvalue()


def zipped(members: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archived:
        for name, data in members.items():
            archived.writestr(name, data)
    return packed.getvalue()


def test_a_folder_is_read_in_the_order_of_numbers_and_once(tmp_path: Path) -> None:
    for name in ("rank_10.log", "rank_9.log", "deep/rank_1.log"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    (tmp_path / "deep" / "loop").symlink_to(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    assert list(contents(tmp_path)) == [
        f"{tmp_path}/{name}" for name in ("deep/rank_1.log", "pipe", "rank_9.log", "rank_10.log")
    ]
    assert contents(tmp_path)[f"{tmp_path}/pipe"] == "a pipe: give it as standard input, with - as PATH"
    assert contents("/dev/null")["/dev/null"] == "no plain file"


def test_what_is_not_there_or_closed_is_told(tmp_path: Path) -> None:
    assert contents(tmp_path / "none") == {f"{tmp_path}/none": "No such file or directory"}
    (tmp_path / "broken").symlink_to("nowhere")
    assert contents(tmp_path) == {f"{tmp_path}/broken": "No such file or directory"}
    assert contents("a\0b") == {"a\0b": "embedded null byte"}


def test_what_may_not_be_read_is_told() -> None:
    folder = Path(tempfile.mkdtemp())
    closed, mine = folder / "a.log", os.geteuid()
    closed.write_text("text")
    closed.chmod(0)
    folder.chmod(0o755)
    try:
        if mine == 0:  # who may read everything
            os.seteuid(NOBODY_ID)
        assert contents(folder) == {str(closed): "Permission denied"}
    finally:
        os.seteuid(mine)
        shutil.rmtree(folder)


def test_the_same_content_counts_once_unless_it_is_of_another_rank(tmp_path: Path) -> None:
    for name in ("all.log", "copy.log", "rank_1.log", "rank_2.log"):
        (tmp_path / name).write_text("alike")
    (tmp_path / "link").hardlink_to(tmp_path / "rank_2.log")
    told = contents(tmp_path)
    assert told[f"{tmp_path}/copy.log"] == f"same as {tmp_path}/all.log"
    assert told[f"{tmp_path}/link"] == f"same as {tmp_path}/all.log"
    assert told[f"{tmp_path}/rank_1.log"] == told[f"{tmp_path}/rank_2.log"] == b"alike"


def test_a_link_is_what_it_leads_to(tmp_path: Path) -> None:
    (tmp_path / "rank_1.log").write_text("text")
    (tmp_path / "latest.log").symlink_to("rank_1.log")
    (told, same) = sources([str(tmp_path)])
    assert isinstance(told, Source)
    assert told.who == Who(rank=1)
    assert same == Unread(f"{tmp_path}/rank_1.log", f"same as {tmp_path}/latest.log")


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress])
def test_compressed_files_are_known_by_their_content(tmp_path: Path, compress: object) -> None:
    (tmp_path / "rank_1").write_bytes(compress(b"text\n" * 100))  # type: ignore[operator]
    assert contents(tmp_path / "rank_1") == {f"{tmp_path}/rank_1": b"text\n" * 100}


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
@pytest.mark.parametrize("held", [1 << 20, 3])
def test_members_of_a_tar(tmp_path: Path, mode: str, held: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "_HELD", held)
    members = {"node01/rank_1.log": b"first", "../../etc/rank_2.log.gz": gzip.compress(b"second"), "/c": b"third"}
    path = tmp_path / "logs"
    path.write_bytes(tarred(members, mode))
    told = list(sources([str(path)]))
    assert all(isinstance(one, Source) for one in told)
    assert list(contents(path).values()) == [b"first", b"second", b"third"]
    assert [one.who for one in told if isinstance(one, Source)] == [Who(rank=1, host="node01"), Who(rank=2), Who()]
    with pickle.loads(pickle.dumps(told[1])).open() as stream:  # they go to other processes
        assert stream.read() == b"second"


def test_members_of_a_zip_and_of_an_archive_in_it(tmp_path: Path) -> None:
    inner = tarred({"rank_3.log": b"deep", "deeper.zip": zipped({"a": b"a"})}, "w:gz")
    (tmp_path / "all.zip").write_bytes(zipped({"rank_1.log": b"first", "b.tgz": inner, "folder/": b""}))
    assert list(contents(tmp_path / "all.zip").items()) == [
        (f"{tmp_path}/all.zip!rank_1.log", b"first"),
        (f"{tmp_path}/all.zip!b.tgz!rank_3.log", b"deep"),
        (f"{tmp_path}/all.zip!b.tgz!deeper.zip", "an archive in an archive in an archive: unpack it first"),
    ]


def test_a_cut_archive_gives_what_came_before(tmp_path: Path) -> None:
    whole = tarred({"a.log": b"first", "b.log": os.urandom(50000)}, "w:gz")
    (tmp_path / "cut.tgz").write_bytes(whole[:30000])
    told = contents(tmp_path / "cut.tgz")
    assert told[f"{tmp_path}/cut.tgz!a.log"] == b"first"
    assert "cut or damaged" in str(told[f"{tmp_path}/cut.tgz"])


@pytest.mark.parametrize(
    "data",
    [zipped({"a": b"b" * 999})[:60], b"\x1f\x8b", b"BZh9garbage", b"\xfd7zXZ\x00no"],
    ids=["zip", "gz", "bz2", "xz"],
)
def test_damaged_ones_are_told_or_fail_when_read(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a").write_bytes(data)
    told = list(sources([str(tmp_path / "a")]))
    assert len(told) == 1
    if isinstance(told[0], Source):
        with pytest.raises(archive.DAMAGED), told[0].open() as stream:
            stream.read()


def test_what_is_packed_in_another_way_says_how_to_unpack_it(tmp_path: Path) -> None:
    (tmp_path / "a.zst").write_bytes(b"\x28\xb5\x2f\xfd1234")
    assert "`zstd -d`" in str(contents(tmp_path / "a.zst")[f"{tmp_path}/a.zst"])


def test_what_unpacks_to_too_much_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "_MOST_BYTES", 10000)
    (tmp_path / "bomb.gz").write_bytes(gzip.compress(bytes(20000)))
    (one,) = sources([str(tmp_path / "bomb.gz")])
    assert isinstance(one, Source)
    with one.open() as stream:
        assert stream.read(5000) == bytes(5000)
        with pytest.raises(archive.Exceeded):
            stream.read()


def test_more_members_than_anything_honest_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MOST_MEMBERS", 3)
    members = {f"m{number}": b"x" for number in range(5)}
    for name, data in (("a.tar", tarred(members)), ("a.zip", zipped(members))):
        (tmp_path / name).write_bytes(data)
        told = contents(tmp_path / name)
        assert len(told) == 4
        assert "more than 3 members" in str(told[f"{tmp_path}/{name}"])


def test_standard_input_is_spooled_and_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(b"text"))))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    found = list(sources(["-"]))
    assert [one.name for one in found if isinstance(one, Source)] == ["standard input"]
    assert len(list(tmp_path.iterdir())) == 1
    for one in (found[0], pickle.loads(pickle.dumps(found[0]))):  # the one is for a process that reads it
        assert isinstance(one, Source)
        with one.open() as stream:
            assert stream.read() == b"text"
    del found, one
    assert list(tmp_path.iterdir()) == []


def test_standard_input_that_is_closed_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", None)
    assert list(sources(["-"])) == [Unread("standard input", "closed")]


def test_equal_files_of_a_series_are_looks_at_different_times(tmp_path: Path) -> None:
    for name in ("ras1.txt", "ras2.txt", "ras.txt"):
        (tmp_path / name).write_text("2 ranks have launched up to operation 9\n")
    found = list(sources([str(tmp_path)]))
    assert [isinstance(one, Unread) for one in found] == [False, False, True]
