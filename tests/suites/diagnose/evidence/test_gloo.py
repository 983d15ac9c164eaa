"""What Gloo says of interfaces, peers and time."""

from __future__ import annotations

import pytest

from suites.diagnose.evidence.gloo import TEXTS, Loopback
from suites.diagnose.evidence.known import KnownTexts
from suites.diagnose.facts import Level, Trouble, Who
from tests.suites.diagnose.evidence.torch_lines import of, told

TCP = "[/build/gloo/transport/tcp/{0}] "


@pytest.mark.parametrize(
    ("line", "level", "cause", "word"),
    [
        ("  ifa != nullptr. Unable to find address for: ^lo", Level.INITIATING, "config", "plain names"),
        ("  ifa != nullptr. Unable to find address for: eth7", Level.INITIATING, "config", "no such interface"),
        ("Unable to find interface for: [192.0.2.4]", Level.INITIATING, "config", "192.0.2.4"),
        (TCP.format("pair.cc:553") + "Connection closed by peer [192.0.2.4]:6066", Level.CASCADE, None, "192.0.2.4"),
        (
            TCP.format("pair.cc:537") + "Read error [2001:db8::4]:28843: Connection reset by peer",
            Level.CASCADE,
            None,
            "2001:",
        ),
        (TCP.format("pair.cc:1") + "Write error [192.0.2.4]:28843: Broken pipe", Level.CASCADE, None, "192.0.2.4"),
        (
            TCP.format("unbound_buffer.cc:78") + "Timed out waiting 6000ms for recv operation to complete",
            Level.TIMEOUT,
            None,
            "6000",
        ),
        (
            "op.preamble.length <= op.nbytes. 8 vs 4. Received data size doesn't match expected size. Is there",
            Level.TRANSPORT,
            "mismatch",
            "8 bytes",
        ),
    ],
)
def test_rows(line: str, level: Level, cause: str | None, word: str) -> None:
    (trouble,) = of(Trouble, told(KnownTexts(TEXTS), line, Who(rank=1)))
    assert (trouble.level, trouble.cause) == (level, cause)
    assert word in trouble.what


FALLBACK = (
    "[W ProcessGroupGloo.cpp:684] Warning: Unable to resolve hostname to a (local) address. "
    "Using the loopback address as fallback."
)
FAILED = "RuntimeError: Gloo connectFullMesh failed with [/build/gloo/transport/tcp/pair.cc:144] {0}"


def test_loopback_is_no_matter_while_connecting_works() -> None:
    assert not told(Loopback(), FALLBACK)


@pytest.mark.parametrize(
    ("text", "level", "cause", "line"),
    [
        (FALLBACK + "\n" + FAILED.format("no error"), Level.INITIATING, "config", 1),
        (FAILED.format("Connection refused, remote=[127.0.1.1]:17308"), Level.INITIATING, "config", 1),
        (FAILED.format("no error"), Level.TRANSPORT, "transport", 1),
        (
            "[enforce fail at /build/gloo/transport/tcp/pair.cc:9] connect [192.0.2.4]:6: Connection refused",
            Level.TRANSPORT,
            "transport",
            1,
        ),
    ],
)
def test_why_connecting_fails(text: str, level: Level, cause: str, line: int) -> None:
    (trouble,) = of(Trouble, told(Loopback(), text, Who(rank=1)))
    assert (trouble.level, trouble.cause, trouble.place.line) == (level, cause, line)


def test_a_link_has_the_peer_that_is_told() -> None:
    (trouble,) = of(Trouble, told(Loopback(), FAILED.format("timed out, remote=[192.0.2.4]:6"), Who(rank=1)))
    (link,) = trouble.about
    assert (link.kind, link.who.rank, link.peer) == ("link", 1, Who(address="192.0.2.4"))
