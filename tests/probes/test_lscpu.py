"""What lscpu printed, for recordings that hold nothing else of a processor."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes import cpu, lscpu, numa
from probes.host import Answer
from probes.recorded.texthost import TextHost

X86 = """Architecture:            x86_64
CPU(s):                  8
On-line CPU(s) list:     0-7
Model name:              Quux 9000
Thread(s) per core:      2
Core(s) per socket:      2
Socket(s):               2
Flags:                   fpu avx2 hypervisor
Hypervisor vendor:       KVM
L2 cache:                2048K
L3 cache:                64 MiB (2 instances)
NUMA node(s):            2
NUMA node0 CPU(s):       0,2,4,6
NUMA node1 CPU(s):       1,3,5,7
Vulnerability Foo:       Not affected
"""
ARM = """Architecture:                         aarch64
CPU(s):                               96
On-line CPU(s) list:                  0-95
Vendor ID:                            HiSilicon
Thread(s) per core:                   1
Socket(s):                            -
NUMA node0 CPU(s):                    0-47
NUMA node1 CPU(s):                    48-95
"""


def recorded(text: str, files: dict[str, str] | None = None) -> TextHost:
    return TextHost(files or {}, {"lscpu": Answer(0, text, "")})


def test_a_processor_of_two_sockets() -> None:
    facts = cpu.read(recorded(X86))
    assert (facts.model, facts.architecture, facts.sockets, facts.installed_cores) == ("Quux 9000", "x86_64", 2, 4)
    assert (facts.logical_cpus, facts.threads_per_core) == (8, 2)
    assert (facts.last_level_cache_bytes, facts.virtual_machine) == (32 << 20, "kvm")
    assert facts.flags == ("hypervisor", "avx2")
    assert facts.allowed_cpus is None  # of whom? nobody runs there


def test_sockets_that_are_a_dash_are_unknown() -> None:
    facts = cpu.read(recorded(ARM))
    assert (facts.sockets, facts.installed_cores, facts.logical_cpus, facts.model) == (None, 96, 96, "HiSilicon")


def test_numa_nodes() -> None:
    nodes = numa.read(recorded(X86)).nodes
    assert nodes is not None
    assert [(node.id, node.cpus, node.memory_bytes) for node in nodes] == [
        (0, (0, 2, 4, 6), None),
        (1, (1, 3, 5, 7), None),
    ]


def test_the_kernels_own_files_tell_more() -> None:
    assert cpu.read(recorded(X86, {"/proc/cpuinfo": "model name: Real"})).model == "Real"


@pytest.mark.parametrize(
    ("text", "size"),
    [("36864K", 36 << 20), ("1.5 MiB", 3 << 19), ("280 MiB (4 instances)", 70 << 20), ("many", None), (None, None)],
)
def test_sizes_of_caches(text: str | None, size: int | None) -> None:
    assert lscpu.parse_size(text) == size


@given(st.text(), st.integers(0, len(X86)))
def test_no_text_is_too_strange(text: str, cut: int) -> None:
    lscpu.parse(text)
    lscpu.parse(X86[:cut] + text + X86[cut:])


def test_cores_need_the_threads_of_each() -> None:
    assert lscpu.parse("CPU(s): 8\n").cores is None
    assert lscpu.parse("Thread(s) per core: 2\n").cores is None
