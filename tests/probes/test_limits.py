"""Resource limits."""

from __future__ import annotations

from probes import limits
from tests.tree_host import TreeHost

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
    )


def test_a_row_needs_no_units() -> None:
    assert limits.parse(TEXT)["Max nice priority"] == limits.Limit(0, 0)


def test_unknown_without_files(tree: TreeHost) -> None:
    assert limits.read(tree) == limits.LimitsFacts(None, None, None, None, None)
