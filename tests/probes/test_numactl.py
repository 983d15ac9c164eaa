"""What numactl printed of NUMA nodes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from probes import numa, numactl
from probes.host import Answer
from probes.recorded.texthost import TextHost

TEXT = """available: 2 nodes (0-1)
node 0 cpus: 0 1 2 3
node 0 size: 1000 MB
node 0 free: 700 MB
node 1 cpus:
node 1 size: 500 MB
node distances:
node   0   1
  0:  10  21
  1:  21  10
"""


def test_nodes() -> None:
    nodes = numa.read(TextHost({}, {"numactl -H": Answer(0, TEXT, "")})).nodes
    assert nodes == (
        numa.NumaNode(0, (0, 1, 2, 3), 1000 << 20, 700 << 20, (10, 21)),
        numa.NumaNode(1, (), 500 << 20, None, (21, 10)),
    )


def test_the_kernels_own_files_tell_more() -> None:
    host = TextHost({"/sys/devices/system/node/node0/cpulist": "0-7\n"}, {"numactl -H": Answer(0, TEXT, "")})
    nodes = numa.read(host).nodes
    assert nodes is not None
    assert [node.cpus for node in nodes] == [tuple(range(8))]


@given(st.text(), st.integers(0, len(TEXT)))
def test_no_text_is_too_strange(text: str, cut: int) -> None:
    numactl.parse(text)
    numactl.parse(TEXT[:cut] + text + TEXT[cut:])


def test_cpus_that_are_no_numbers_are_unknown() -> None:
    assert numactl.parse("node 0 cpus: 0 x\n")[0].cpus is None
    assert numactl.parse("node 0 size: 1 MB\n")[0].cpus is None
