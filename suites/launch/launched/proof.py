"""How processes of one run show each other that they are: a challenge each way, answered with a key that both have.

Where MUNGE vouches for users on all hosts, the key travels in a credential that only the same user can open. The key
itself is never sent. May import: the standard library, errors, protocol.
"""

from __future__ import annotations

import hmac
import os
import secrets
import socket
import struct
import subprocess
from dataclasses import dataclass

from suites.errors import LaunchError
from suites.launch.protocol import BrokenFrame, Frame, pack, read_frame

LARGEST = 8192
"""Bytes of a frame of somebody who has not shown yet who that is."""
_MUNGE_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Key:
    """What both sides know. `vouched`: MUNGE is to vouch for the user beside it."""

    secret: bytes
    vouched: bool = False


def challenge() -> Frame:
    return {"type": "challenge", "nonce": secrets.token_hex(16)}


def admit(key: Key, asked: Frame, answer: Frame) -> Frame | None:
    """What the one who has asked says to an answer: `welcome`, or None to whom does not belong here."""
    try:
        nonce, proof, credential = str(answer["nonce"]), str(answer["proof"]), answer["credential"]
        secret = _opened(str(credential)) + key.secret if key.vouched else key.secret
    except (KeyError, LaunchError):
        return None
    if answer["type"] != "proof" or not hmac.compare_digest(proof, _digest(secret, "guest", asked["nonce"], nonce)):
        return None
    return {"type": "welcome", "proof": _digest(secret, "host", asked["nonce"], nonce)}


def introduce(connection: socket.socket, key: Key, seconds: float) -> None:
    """As the one who is asked: show that one belongs here, and see that the other does. Raises LaunchError."""
    wait_at_most(connection, seconds)
    try:
        asked = read_frame(connection.fileno())
        nonce = secrets.token_hex(16)
        own = secrets.token_bytes(32) if key.vouched else b""
        credential = _sealed(own) if key.vouched else None
        secret = own + key.secret
        proof = _digest(secret, "guest", str(asked["nonce"]), nonce)
        connection.sendall(pack({"type": "proof", "nonce": nonce, "proof": proof, "credential": credential}))
        answer = read_frame(connection.fileno())
        if not hmac.compare_digest(str(answer["proof"]), _digest(secret, "host", str(asked["nonce"]), nonce)):
            raise LaunchError("something else answers there")
    except (BrokenFrame, KeyError, EOFError):
        raise LaunchError("what answers there is not of this run") from None
    except BlockingIOError:
        raise LaunchError("what answers there says nothing") from None
    except OSError as error:
        raise LaunchError(error.strerror or str(error)) from None


def wait_at_most(connection: socket.socket, seconds: float) -> None:
    """Reads of its descriptor raise BlockingIOError after so long; 0 is never."""
    connection.setblocking(True)
    whole = int(seconds)
    connection.setsockopt(
        socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", whole, int((seconds - whole) * 1_000_000))
    )


def vouches() -> bool:
    """Whether MUNGE seals something here."""
    try:
        _sealed(b"")
    except LaunchError:
        return False
    return True


def _digest(secret: bytes, who: str, *nonces: str) -> str:
    return hmac.new(secret, " ".join((who, *nonces)).encode(), "sha256").hexdigest()


def _sealed(content: bytes) -> str:
    """For the same user, on whatever host of the cluster. Raises LaunchError."""
    return _munge(["munge", f"--restrict-uid={os.getuid()}"], content.hex().encode()).decode(errors="replace").strip()


def _opened(credential: str) -> bytes:
    """Raises LaunchError for what the same user has not sealed, and for what was opened before."""
    try:
        return bytes.fromhex(_munge(["unmunge", "--metadata=/dev/null"], credential.encode()).decode())
    except ValueError:
        raise LaunchError("a credential of something else") from None


def _munge(argv: list[str], content: bytes) -> bytes:
    try:
        done = subprocess.run(argv, input=content, capture_output=True, timeout=_MUNGE_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise LaunchError(f"{argv[0]}: {error}") from None
    if done.returncode:
        raise LaunchError(f"{argv[0]}: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout
