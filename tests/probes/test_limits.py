"""Resource limits."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from probes import kernel_settings, limits
from probes.host import Answer
from probes.recorded.texthost import TextHost
from tests.tree_host import TreeHost

UNKNOWN = kernel_settings.KernelSettings(*[None] * 11)

TEXT = """Limit                     Soft Limit           Hard Limit           Units
Max stack size            8388608              unlimited            bytes
Max core file size        0                    0                    bytes
Max processes             77                   88                   processes
Max open files            1234                 56789                files
Max locked memory         unlimited            unlimited            bytes
Max nice priority         0                    0                    """


def test_read(tree: TreeHost) -> None:
    assert limits.read(tree.write({"/proc/self/limits": TEXT})) == limits.LimitsFacts(
        memlock=limits.Limit("unlimited", "unlimited"),
        nofile=limits.Limit(1234, 56789),
        nproc=limits.Limit(77, 88),
        stack=limits.Limit(8388608, "unlimited"),
        core=limits.Limit(0, 0),
        kernel=UNKNOWN,
    )


def test_a_row_needs_no_units() -> None:
    assert limits.parse(TEXT)["Max nice priority"] == limits.Limit(0, 0)


def test_unknown_without_files(tree: TreeHost) -> None:
    assert limits.read(tree) == limits.LimitsFacts(None, None, None, None, None, UNKNOWN)


ULIMIT = """core file size          (blocks, -c) 0
real-time non-blocking time  (microseconds, -R) unlimited
max locked memory           (kbytes, -l) 64
open files                      (-n) 1024
stack size              (kbytes, -s) unlimited
max user processes              (-u) 77
"""


def test_a_recording_may_have_but_what_the_shell_says() -> None:
    facts = limits.read(TextHost({}, {"ulimit -a": Answer(0, ULIMIT, "")}))
    assert facts.memlock == limits.Limit(65536, None)
    assert facts.nofile == limits.Limit(1024, None)
    assert facts.stack == limits.Limit("unlimited", None)
    assert facts.nproc == limits.Limit(77, None)


@given(st.text(), st.integers(0, len(ULIMIT)))
def test_no_text_is_too_strange(text: str, cut: int) -> None:
    limits.parse_ulimit(text)
    limits.parse_ulimit(ULIMIT[:cut] + text + ULIMIT[cut:])
