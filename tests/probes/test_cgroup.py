"""Limits of control groups, versions 1 and 2: the tightest on the way up counts."""

from __future__ import annotations

import pytest

from probes import cgroup
from probes.cgroup_tree import Mount, ancestry, parse_groups, parse_mounts
from tests.tree_host import TreeHost

V2_MOUNT = "31 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup rw"
TOP = "/sys/fs/cgroup"


def v2(tree: TreeHost, files: dict[str, str], path: str = "/batch/job/task") -> TreeHost:
    return tree.write({
        "/proc/self/cgroup": f"0::{path}",
        "/proc/self/mountinfo": f"22 1 8:1 / / rw - ext4 /dev/sda rw\n{V2_MOUNT}",
        **{f"{TOP}{name}": text for name, text in files.items()},
    })  # fmt: skip


def test_v2_takes_the_tightest_ancestor(tree: TreeHost) -> None:
    v2(tree, {
        "/batch/memory.max": "9000",
        "/batch/job/memory.max": "5000",
        "/batch/job/task/memory.max": "max",
        "/batch/memory.current": "8600",
        "/batch/job/memory.current": "1000",
        "/batch/job/task/memory.current": "70",
        "/batch/cpu.max": "150000 100000",
        "/batch/job/cpu.max": "max 100000",
        "/batch/job/task/cpu.max": "400000 100000",
        "/batch/job/cpuset.cpus.effective": "4-7",
        "/batch/cpuset.cpus.effective": "0-7",
        "/batch/pids.max": "300",
        "/batch/job/task/pids.max": "max",
    })  # fmt: skip
    facts = cgroup.read(tree)
    assert facts.version == "v2"
    assert (facts.memory_limit_bytes, facts.memory_source) == (5000, f"{TOP}/batch/job/memory.max")
    assert facts.memory_used_bytes == 70
    assert facts.memory_headroom_bytes == 400  # the wider limit has less left
    assert (facts.cpu_quota, facts.cpus, facts.pids_limit) == (1.5, (4, 5, 6, 7), 300)


@pytest.mark.parametrize("events", ["low 0\noom 9\noom_kill 3\noom_group_kill 1", "low 0;oom 9;oom_kill 3"])
def test_kills_are_counted_by_the_nearest_group_that_counts(tree: TreeHost, events: str) -> None:
    v2(tree, {"/batch/job/memory.events": events, "/batch/memory.events": "oom_kill 8"})
    assert cgroup.read(tree).oom_kills == 3


def test_kills_of_v1(tree: TreeHost) -> None:
    tree.write({
        "/proc/self/cgroup": "4:memory:/run",
        "/proc/self/mountinfo": "41 30 0:2 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory",
        f"{TOP}/memory/run/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 2",
    })  # fmt: skip
    assert cgroup.read(tree).oom_kills == 2


def test_a_recording_without_mounts_is_of_version_2_at_its_usual_place(tree: TreeHost) -> None:
    tree.write({"/proc/self/cgroup": "0::/a/b", f"{TOP}/a/memory.max": "64", f"{TOP}/a/b/memory.max": "max"})
    facts = cgroup.read(tree)
    assert (facts.version, facts.memory_limit_bytes) == ("v2", 64)


def test_a_recording_without_mounts_of_version_1_tells_nothing(tree: TreeHost) -> None:
    tree.write({"/proc/self/cgroup": "4:memory:/a\n0::/a", f"{TOP}/a/memory.max": "64"})
    assert cgroup.read(tree).memory_limit_bytes is None


def test_file_cache_is_not_use(tree: TreeHost) -> None:
    v2(tree, {"/memory.max": "1000", "/memory.current": "900", "/memory.stat": "anon 300\ninactive_file 500"}, "/")
    facts = cgroup.read(tree)
    assert (facts.memory_used_bytes, facts.memory_headroom_bytes) == (400, 600)


def test_use_beyond_the_limit_leaves_nothing(tree: TreeHost) -> None:
    assert cgroup.read(v2(tree, {"/memory.max": "10", "/memory.current": "12"}, "/")).memory_headroom_bytes == 0


def test_use_that_cannot_be_read_leaves_the_limit(tree: TreeHost) -> None:
    facts = cgroup.read(v2(tree, {"/memory.max": "10"}, "/"))
    assert (facts.memory_used_bytes, facts.memory_headroom_bytes) == (None, 10)


@pytest.mark.parametrize(
    ("text", "cpus"),
    [("150000 100000", 1.5), ("max 100000", "unlimited"), ("150000", None), ("150000 0", None), ("", None)],
)
def test_quota(text: str, cpus: float | str | None) -> None:
    assert cgroup.parse_quota_v2(text) == cpus


def test_v2_without_a_limit_is_unlimited(tree: TreeHost) -> None:
    facts = cgroup.read(v2(tree, {"/batch/job/task/memory.max": "max", "/batch/job/task/cpu.max": "max 100000"}))
    assert (facts.memory_limit_bytes, facts.memory_headroom_bytes) == ("unlimited", "unlimited")
    assert (facts.cpu_quota, facts.pids_limit) == ("unlimited", "unlimited")
    assert facts.memory_source is None


def test_what_cannot_be_seen_is_unknown(tree: TreeHost) -> None:
    facts = cgroup.read(v2(tree, {}))
    assert facts.version == "v2"
    assert (facts.memory_limit_bytes, facts.memory_headroom_bytes, facts.cpu_quota, facts.pids_limit) == (None,) * 4
    assert cgroup.read(TreeHost(tree.folder / "nowhere")) == cgroup.CgroupFacts(*[None] * 10)


def test_v1(tree: TreeHost) -> None:
    tree.write({
        "/proc/self/cgroup": "5:cpu,cpuacct:/run\n4:memory:/run/deep\n3:pids:/\n2:cpuset:/run\n1:name=a:/x\n0::/x",
        "/proc/self/mountinfo": (
            "40 30 0:1 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
            "41 30 0:2 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
            "42 30 0:3 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n"
            "43 30 0:4 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
            "44 30 0:5 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw"
        ),
        f"{TOP}/memory/memory.limit_in_bytes": "9223372036854771712",
        f"{TOP}/memory/run/memory.limit_in_bytes": "6000",
        f"{TOP}/memory/run/deep/memory.limit_in_bytes": "9223372036854771712",
        f"{TOP}/memory/run/memory.usage_in_bytes": "2500",
        f"{TOP}/memory/run/memory.stat": "inactive_file 1\ntotal_inactive_file 500",
        f"{TOP}/cpu,cpuacct/cpu.cfs_quota_us": "-1",
        f"{TOP}/cpu,cpuacct/run/cpu.cfs_quota_us": "25000",
        f"{TOP}/cpu,cpuacct/run/cpu.cfs_period_us": "50000",
        f"{TOP}/cpuset/run/cpuset.cpus": "2-9",
        f"{TOP}/cpuset/run/cpuset.effective_cpus": "2-3",
        f"{TOP}/pids/tasks": "",
    })  # fmt: skip
    facts = cgroup.read(tree)
    assert facts.version == "v1 and v2"
    assert (facts.memory_limit_bytes, facts.memory_source) == (6000, f"{TOP}/memory/run/memory.limit_in_bytes")
    assert facts.memory_headroom_bytes == 4000
    assert (facts.cpu_quota, facts.cpus, facts.pids_limit) == (0.5, (2, 3), "unlimited")


@pytest.mark.parametrize(
    ("path", "root", "folders"),
    [
        ("/a/b", "/", ("/g/a/b", "/g/a", "/g")),
        ("/", "/", ("/g",)),
        ("/docker/x/y", "/docker/x", ("/g/y", "/g")),
        ("/docker/x", "/docker/xyz", ("/g",)),  # not below it, though the text begins alike
        ("/../other", "/", ("/g",)),
    ],
)
def test_ancestry(path: str, root: str, folders: tuple[str, ...]) -> None:
    assert ancestry(path, Mount(2, frozenset({""}), root, "/g")) == folders


def test_parsers_of_groups_and_mounts() -> None:
    assert parse_groups("7:cpu,cpuacct:/a:b\n0::/c\njunk\n") == {"cpu": "/a:b", "cpuacct": "/a:b", "": "/c"}
    escaped = parse_mounts(r"1 2 0:3 /r\040oot /g\134x rw - cgroup2 c rw")
    assert escaped == (Mount(2, frozenset({""}), "/r oot", "/g\\x"),)


@pytest.mark.parametrize(
    ("files", "variables", "kind"),
    [
        ({}, {}, None),
        ({"/.dockerenv": ""}, {}, "docker"),
        ({"/run/.containerenv": ""}, {}, "podman"),
        ({"/.dockerenv": ""}, {"KUBERNETES_SERVICE_HOST": "10.9.8.7"}, "kubernetes"),
        ({"/proc/self/cgroup": "0::/kubepods/burstable/pod1"}, {}, "kubernetes"),
        ({"/proc/self/cgroup": "4:memory:/docker/0123"}, {}, "docker"),
        ({"/proc/self/cgroup": "0::/machine.slice/libpod-0123"}, {}, "podman"),
        ({"/proc/self/cgroup": "0::/lxc/one"}, {}, "lxc"),
        ({"/proc/self/cgroup": "0::/user.slice"}, {}, None),
    ],
)
def test_container(tree: TreeHost, files: dict[str, str], variables: dict[str, str], kind: str | None) -> None:
    tree.variables = variables
    assert cgroup.read(tree.write(files)).container == kind


@pytest.mark.parametrize("text", ["0 100000", "junk 100000", "-5 100000"])
def test_a_quota_that_is_none(text: str) -> None:
    assert cgroup.parse_quota_v2(text) is None


def test_v1_without_a_limit_is_unlimited(tree: TreeHost) -> None:
    tree.write({
        "/proc/self/cgroup": "4:memory:/run",
        "/proc/self/mountinfo": "41 30 0:2 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory",
        f"{TOP}/memory/run/memory.limit_in_bytes": "9223372036854771712",
        f"{TOP}/memory/memory.limit_in_bytes": "9223372036854771712",
    })  # fmt: skip
    facts = cgroup.read(tree)
    assert (facts.memory_limit_bytes, facts.memory_source) == ("unlimited", None)


def test_the_topmost_group_of_v2_has_no_files_of_limits(tree: TreeHost) -> None:
    facts = cgroup.read(v2(tree, {"/cgroup.procs": "1"}, "/"))
    assert (facts.memory_limit_bytes, facts.cpu_quota, facts.pids_limit) == ("unlimited",) * 3


@pytest.mark.parametrize(("statistics", "used"), [("inactive_file 500\nanon", 400), ("inactive_file 1000", 0)])
def test_statistics_that_are_cut_or_of_a_later_moment(tree: TreeHost, statistics: str, used: int) -> None:
    v2(tree, {"/memory.max": "1000", "/memory.current": "900", "/memory.stat": statistics}, "/")
    assert cgroup.read(tree).memory_used_bytes == used


def test_cpus_of_a_kernel_that_has_no_effective_list(tree: TreeHost) -> None:
    tree.write({
        "/proc/self/cgroup": "2:cpuset:/run",
        "/proc/self/mountinfo": "43 30 0:4 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset",
        f"{TOP}/cpuset/run/cpuset.cpus": "2-4",
    })  # fmt: skip
    assert cgroup.read(tree).cpus == (2, 3, 4)


def test_a_mount_of_version_2_that_this_process_has_no_group_in(tree: TreeHost) -> None:
    tree.write({"/proc/self/cgroup": "4:memory:/a", "/proc/self/mountinfo": V2_MOUNT, f"{TOP}/cpu.max": "1 1"})
    facts = cgroup.read(tree)
    assert (facts.version, facts.memory_limit_bytes, facts.cpu_quota) == ("v2", None, None)


@pytest.mark.parametrize(
    "line", ["31 23 0:26 / - cgroup2 cgroup rw", "31 23 0:26 / /g rw - cgroup x", "", " - cgroup2"]
)
def test_mounts_that_were_cut(line: str) -> None:
    assert parse_mounts(line) == ()
