"""Who is let in: a challenge each way over real sockets, and a real MUNGE that vouches for the user."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from suites.errors import LaunchError
from suites.launch.launched import proof
from suites.launch.launched.proof import Key, admit, challenge, introduce
from suites.launch.protocol import pack, read_frame
from tests.leftovers import until

LONG = 30.0


def meet(host: Key, guest: Key) -> tuple[bool, str]:
    """Whether the host lets the guest in, and what the guest says of the host."""
    ours, theirs = socket.socketpair()
    said: list[str] = []

    def come() -> None:
        try:
            introduce(theirs, guest, LONG)
        except LaunchError as error:
            said.append(str(error))

    with ours, theirs:
        thread = threading.Thread(target=come)
        thread.start()
        asked = challenge()
        ours.sendall(pack(asked))
        welcome = admit(host, asked, read_frame(ours.fileno()))
        ours.sendall(pack(welcome or {"type": "welcome", "proof": "?"}))
        thread.join(LONG)
    return welcome is not None, "".join(said)


def test_who_has_the_key_is_let_in_and_believes_the_other() -> None:
    assert meet(Key(b"k"), Key(b"k")) == (True, "")


def test_who_has_another_is_not_and_does_not() -> None:
    assert meet(Key(b"k"), Key(b"another")) == (False, "something else answers there")


def test_an_answer_is_good_for_one_question_only() -> None:
    asked = challenge()
    ours, theirs = socket.socketpair()
    with ours, theirs:
        thread = threading.Thread(target=lambda: introduce(theirs, Key(b"k"), LONG))
        thread.start()
        ours.sendall(pack(asked))
        answer = read_frame(ours.fileno())
        ours.sendall(pack(admit(Key(b"k"), asked, answer) or {}))
        thread.join(LONG)
    assert admit(Key(b"k"), asked, answer)
    assert admit(Key(b"k"), challenge(), answer) is None


@pytest.mark.parametrize("words", [b"GET / HTTP/1.1\r\n\r\n", b"\0\0\0\2{}", b"\0\0\0\2[]", b"\0", b""])
def test_what_is_no_rank_0_is_not_taken_for_one(words: bytes) -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        ours.sendall(words)
        ours.close()
        with pytest.raises(LaunchError):
            introduce(theirs, Key(b"k"), LONG)


def test_what_says_nothing_is_not_waited_for_longer_than_said() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs, pytest.raises(LaunchError, match="says nothing"):
        introduce(theirs, Key(b"k"), 0.1)


@pytest.fixture
def munge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A real MUNGE with a key of its own, by the commands of that name."""
    if shutil.which("munged", path="/usr/sbin:/sbin:" + os.environ["PATH"]) is None or os.geteuid():
        pytest.skip("needs munged, and root")
    tmp_path.chmod(0o711)
    key, door = tmp_path / "key", tmp_path / "door"
    key.touch(0o400)
    key.write_bytes(os.urandom(128))
    files = [f"--{kind}-file={tmp_path / kind}" for kind in ("pid", "log", "seed")]
    command = ["munged", "--foreground", "--force", f"--socket={door}", f"--key-file={key}", *files]
    environment = {**os.environ, "PATH": "/usr/sbin:/sbin:" + os.environ["PATH"]}
    with subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL) as daemon:
        try:
            until(door.is_socket, LONG, "munged")
            programs = tmp_path / "bin"
            programs.mkdir()
            for name in ("munge", "unmunge"):
                (programs / name).write_text(f'#!/bin/sh\nexec {shutil.which(name)} --socket={door} "$@"\n')
                (programs / name).chmod(0o755)
            monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
            yield
        finally:
            daemon.terminate()


@pytest.mark.usefixtures("munge")
def test_munge_vouches_for_the_user() -> None:
    assert proof.vouches()
    assert meet(Key(b"k", vouched=True), Key(b"k", vouched=True)) == (True, "")
    assert meet(Key(b"k", vouched=True), Key(b"another", vouched=True))[0] is False


@pytest.mark.usefixtures("munge")
def test_where_munge_vouches_the_name_of_the_job_is_not_enough() -> None:
    assert meet(Key(b"k", vouched=True), Key(b"k")) == (False, "something else answers there")


@pytest.mark.usefixtures("munge")
def test_a_credential_opens_once() -> None:
    sealed = proof._sealed(b"secret")
    assert proof._opened(sealed) == b"secret"
    with pytest.raises(LaunchError, match="unmunge"):
        proof._opened(sealed)


def test_without_munge_nobody_vouches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert not proof.vouches()
