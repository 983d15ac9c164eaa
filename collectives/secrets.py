"""Numbers and keys that only ranks of one run can know. May import: the standard library."""

from __future__ import annotations

from hashlib import blake2b


def secret(token: str, name: str) -> int:
    """A number, not 0, that only holders of the run's token can know."""
    digest = blake2b(name.encode(), key=token.encode()[:64], digest_size=8).digest()
    return int.from_bytes(digest, "little") or 1


def key(token: str, name: str) -> bytes:
    """32 bytes, likewise."""
    return blake2b(name.encode(), key=token.encode()[:64], digest_size=32).digest()
