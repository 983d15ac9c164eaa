"""Cores, affinity, quota and caches, on trees of made-up machines."""

from __future__ import annotations

import pytest

from probes import cpu
from probes.cpu_model import flags, model
from probes.frequency import Frequency
from probes.host import Runtime
from tests.tree_host import TreeHost

CPUS = "/sys/devices/system/cpu"


def machine(tree: TreeHost, siblings: dict[int, str], allowed: str) -> TreeHost:
    """CPUs as {number: the threads of its core}, all on one socket, with 24 MiB of L3 for all of them."""
    files = {
        f"{CPUS}/online": ",".join(map(str, siblings)),
        "/proc/self/status": f"Name:\tpython\nCpus_allowed:\tff\nCpus_allowed_list:\t{allowed}",
    }
    for number, threads in siblings.items():
        files[f"{CPUS}/cpu{number}/topology/thread_siblings_list"] = threads
        files[f"{CPUS}/cpu{number}/topology/physical_package_id"] = "0"
        files[f"{CPUS}/cpu{number}/cache/index0/level"] = "1"
        files[f"{CPUS}/cpu{number}/cache/index0/type"] = "Data"
        files[f"{CPUS}/cpu{number}/cache/index0/size"] = "48K"
        files[f"{CPUS}/cpu{number}/cache/index0/shared_cpu_list"] = threads
        files[f"{CPUS}/cpu{number}/cache/index3/level"] = "3"
        files[f"{CPUS}/cpu{number}/cache/index3/type"] = "Unified"
        files[f"{CPUS}/cpu{number}/cache/index3/size"] = "24576K"
        files[f"{CPUS}/cpu{number}/cache/index3/shared_cpu_list"] = ",".join(map(str, siblings))
    return tree.write(files)


FOUR_CORES = {0: "0,4", 1: "1,5", 2: "2,6", 3: "3,7", 4: "0,4", 5: "1,5", 6: "2,6", 7: "3,7"}


def test_all_cores(tree: TreeHost) -> None:
    tree.system = Runtime("x86_64", "glibc 9.9", "3.99.0")
    facts = cpu.read(machine(tree, FOUR_CORES, "0-7"))
    assert (facts.sockets, facts.installed_cores, facts.logical_cpus, facts.threads_per_core) == (1, 4, 8, 2)
    assert (facts.core_cpus, facts.physical_cores) == ((0, 1, 2, 3), 4)
    assert facts.caches == (cpu.Cache(1, "data", 48 << 10, 2), cpu.Cache(3, "unified", 24 << 20, 8))
    assert (facts.last_level_cache_bytes, facts.last_level_cache_shared_by) == (24 << 20, 8)
    assert facts.architecture == "x86_64"
    assert facts.governor is None


def test_affinity_leaves_the_cores_it_touches(tree: TreeHost) -> None:
    # Both threads of core 1, one of core 2; CPUs 8-63 could be plugged in one day.
    facts = cpu.read(machine(tree, FOUR_CORES, "1,5-6,8-63"))
    assert facts.allowed_cpus == (1, 5, 6)
    assert facts.core_cpus == (1, 6)
    assert facts.physical_cores == 2
    assert facts.installed_cores == 4


@pytest.mark.parametrize(("quota", "cores"), [("250000", 2), ("40000", 1), ("900000", 4), ("max", 4)])
def test_a_quota_bounds_how_many_cores_run_at_once(tree: TreeHost, quota: str, cores: int) -> None:
    machine(tree, FOUR_CORES, "0-7").write({
        "/proc/self/cgroup": "0::/",
        "/proc/self/mountinfo": "31 23 0:26 / /sys/fs/cgroup ro - cgroup2 cgroup rw",
        "/sys/fs/cgroup/cpu.max": f"{quota} 100000",
    })  # fmt: skip
    facts = cpu.read(tree)
    assert facts.physical_cores == cores
    assert facts.core_cpus == (0, 1, 2, 3)


def test_a_cache_of_no_known_level_or_type_is_left_out(tree: TreeHost) -> None:
    index = f"{CPUS}/cpu0/cache/index"
    tree.write({f"{CPUS}/online": "0", f"{index}0/level": "1", f"{index}1/type": "Data", f"{index}2/level": "2"})
    tree.write({f"{index}2/type": "Unified"})
    assert cpu.read(tree).caches == (cpu.Cache(2, "unified", None, None),)


def test_cores_are_unknown_without_the_topology(tree: TreeHost) -> None:
    tree.write({f"{CPUS}/online": "0-3", "/proc/self/status": "Cpus_allowed_list:\t0-3"})
    facts = cpu.read(tree)
    assert facts.allowed_cpus == (0, 1, 2, 3)
    assert (facts.installed_cores, facts.core_cpus, facts.physical_cores, facts.sockets) == (None,) * 4
    assert (facts.caches, facts.last_level_cache_bytes) == (None, None)


def test_an_empty_host_is_unknown_throughout(tree: TreeHost) -> None:
    facts = cpu.read(tree)
    assert all(getattr(facts, name) is None for name in facts.__dataclass_fields__)


def test_sockets_of_minus_one_are_unknown(tree: TreeHost) -> None:
    tree.write({f"{CPUS}/online": "0", f"{CPUS}/cpu0/topology/physical_package_id": "-1"})
    assert cpu.read(tree).sockets is None


def test_governors_that_differ_are_all_told(tree: TreeHost) -> None:
    path = f"{CPUS}/cpu{{}}/cpufreq/scaling_governor"
    tree.write({f"{CPUS}/online": "0-2", path.format(0): "powersave", path.format(1): "performance"})
    assert cpu.read(tree).governor == "performance, powersave"


def test_model_and_flags_of_x86() -> None:
    text = (
        "processor\t: 0\nmodel name\t: Quux 9000\nflags\t\t: fpu avx2 f16c sse\n\nprocessor\t: 1\nmodel name\t: Other"
    )
    assert model(text) == "Quux 9000"
    assert flags(text) == ("avx2", "f16c")


def test_model_and_flags_of_arm() -> None:
    text = "processor\t: 0\nFeatures\t: fp asimd sve\nCPU implementer\t: 0x48\nCPU part\t: 0xabc"
    assert model(text) == "HiSilicon part 0xabc"
    assert model(text.replace("0x48", "0x77")) == "implementer 0x77 part 0xabc"
    assert flags(text) == ("asimd", "sve")
    assert (model(None), flags(None), model(""), flags("flags:")) == (None, None, None, ())


def test_governors_and_the_bounds_of_the_frequency(tree: TreeHost) -> None:
    path = f"{CPUS}/cpu{{}}/cpufreq/{{}}"
    tree.write({
        f"{CPUS}/online": "0-2",
        "/proc/self/status": "Cpus_allowed_list:\t0",
        path.format(0, "scaling_governor"): "performance",
        path.format(1, "scaling_governor"): "performance",
        path.format(2, "scaling_governor"): "powersave",
        path.format(0, "scaling_min_freq"): "800000",
        path.format(1, "scaling_min_freq"): "900000",
        path.format(0, "scaling_max_freq"): "3000000",
        path.format(1, "scaling_max_freq"): "2000000",
        path.format(0, "cpuinfo_max_freq"): "3000000",
    })  # fmt: skip
    facts = cpu.read(tree)
    assert facts.governor == "performance, powersave"  # of all CPUs, not only of those allowed
    assert facts.frequency == Frequency({"performance": 2, "powersave": 1}, 800_000_000, 2_000_000_000, 3_000_000_000)


def maker(vendor: str, product: str = "", cpuinfo: str = "Features: fp") -> dict[str, str]:
    names = {"/sys/class/dmi/id/sys_vendor": vendor, "/sys/class/dmi/id/product_name": product}
    return {"/proc/cpuinfo": cpuinfo, **names}


@pytest.mark.parametrize(
    ("files", "kind"),
    [
        ({"/proc/cpuinfo": "flags: fpu"}, None),
        ({"/proc/cpuinfo": "flags: fpu hypervisor"}, "of unknown kind"),
        (maker("QEMU", cpuinfo="flags: hypervisor"), "kvm"),
        (maker("Google Compute Engine", cpuinfo="flags: fpu"), None),  # x86 says whether it is one
        (maker("Microsoft Corporation", "Virtual Machine"), "hyper-v"),
        (maker("Amazon EC2", "c9.large"), "amazon"),
        (maker("Amazon EC2", "c9.metal"), None),
        ({"/sys/hypervisor/type": "xen"}, "xen"),
        ({"/proc/device-tree/hypervisor/compatible": "linux,kvm", "/proc/cpuinfo": "Features: fp"}, "of unknown kind"),
    ],
)
def test_virtual_machines(tree: TreeHost, files: dict[str, str], kind: str | None) -> None:
    assert cpu.read(tree.write(files)).virtual_machine == kind


def test_cpus_that_are_switched_off(tree: TreeHost) -> None:
    tree.write({f"{CPUS}/present": "0-15", f"{CPUS}/online": "0-8,12"})
    assert cpu.read(tree).offline_cpus == (9, 10, 11, 13, 14, 15)
    tree.write({f"{CPUS}/online": "0-15"})
    assert cpu.read(tree).offline_cpus == ()
    assert cpu.read(TreeHost(tree.folder / "other").write({f"{CPUS}/present": "0-15"})).offline_cpus is None


def test_the_affinity_counts_where_nothing_tells_what_is_online(tree: TreeHost) -> None:
    assert cpu.read(tree.write({"/proc/self/status": "Cpus_allowed_list:\t2-3"})).allowed_cpus == (2, 3)


def test_cores_of_several_kinds_have_as_many_threads_as_the_largest(tree: TreeHost) -> None:
    assert cpu.read(machine(tree, {0: "0-1", 1: "0-1", 2: "2"}, "0-2")).threads_per_core == 2


def test_caches_are_those_of_a_cpu_of_ours_and_in_order(tree: TreeHost) -> None:
    index = f"{CPUS}/cpu{{}}/cache/index{{}}/{{}}"
    tree.write({f"{CPUS}/online": "0-1", "/proc/self/status": "Cpus_allowed_list:\t1"})
    for place, (level, kind) in enumerate((("1", "Instruction"), ("1", "Data"), ("2", "Unified"))):
        tree.write({index.format(1, place, "level"): level, index.format(1, place, "type"): kind})
    tree.write({index.format(0, 0, "level"): "3", index.format(0, 0, "type"): "Unified"})
    assert [(cache.level, cache.type) for cache in cpu.read(tree).caches or ()] == [
        (1, "data"), (1, "instruction"), (2, "unified"),
    ]  # fmt: skip
