"""The record of info as text for people."""

from __future__ import annotations

from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from opsdist_cli.output.facts import render
from opsdist_cli.output.sections import SECTIONS
from suites import hostinfo
from tests.schema import validate
from tests.scrambled_host import TEXT, ScrambledHost
from tests.suites.reported import reported
from tests.tree_host import TreeHost


def record(facts: dict[str, Any], findings: list[dict[str, Any]] | None = None, code: int = 0) -> dict[str, Any]:
    hosts = [{"name": "made-up", "facts": facts}]
    return {
        "opsdist": "9.9", "hosts": hosts, "differences": [], "changes": [], "readiness": [],
        "findings": findings or [], "exit_code": code,
    }  # fmt: skip


def finding(status: str, check: str, remedy: str | None = "do this") -> dict[str, Any]:
    return {
        "status": status, "check": check, "message": f"about {check}", "remedy": remedy, "subject": {}, "evidence": {},
    }  # fmt: skip


def interface(**facts: Any) -> dict[str, Any]:
    names = (
        "state",
        "speed_bytes_per_second",
        "duplex",
        "mtu",
        "driver",
        "pci_slot",
        "numa_node",
        "virtual",
        "loopback",
    )
    return {"name": "net7", **dict.fromkeys(names), "addresses": [], **facts}


def line_of(facts: dict[str, Any]) -> str:
    return " ".join(render(record({"network": {"interfaces": [facts]}})).split("net7")[1].split("info:")[0].split())


def test_every_section_has_a_renderer() -> None:
    assert set(SECTIONS) == {*hostinfo.SECTIONS, *hostinfo.VIEWS}


def test_an_empty_host_is_all_unknown_and_still_text(tree: TreeHost) -> None:
    text = render(reported(tree).record())
    assert all(len(line) < 100 for line in text.splitlines())
    assert "None" not in text
    assert text.splitlines()[-1] == "info: 15 sections read, 4 skip"
    assert text.splitlines()[2:4] == ["backends", "  none                    no backend is known"]


def test_findings_by_severity_then_the_verdict() -> None:
    text = render(record({"environment": {"variables": {}, "told": True, "nccl_file": None}}, [
        finding("skip", "d", None), finding("info", "c"), finding("warn", "b"), finding("error", "a"),
    ]))  # fmt: skip
    assert text.splitlines()[-9:] == [
        "error  a: about a",
        "       -> do this",
        "warn   b: about b",
        "       -> do this",
        "info   c: about c",
        "       -> do this",
        "skip   not judged, since too little was told: d",
        "",
        "info: 1 section read, 1 error, 1 warn, 1 info, 1 skip",
    ]


def test_verdicts_without_findings() -> None:
    assert render(record({})).splitlines()[-1] == "info: 0 sections read, nothing to remark"
    assert render(record({}, code=3)).splitlines()[-1] == "info: nothing could be read"


def test_backends_come_first_with_reason_and_remedy() -> None:
    lacking = {"name": "b", "summary": None, "ready": False, "reason": "it is not there", "remedy": "get it"}
    ready = {"name": "a", "summary": "moves data", "ready": True, "reason": None, "remedy": None}
    lame = {**ready, "name": "c", "reason": "it is slow", "remedy": "mend it"}
    environment = {"variables": {"RANK": "1"}, "told": True, "nccl_file": {"NCCL_NET": "IB"}}
    facts = {"environment": environment, "backends": [ready, lacking, lame]}
    lines = render(record(facts)).splitlines()
    assert lines[2:9] == [
        "backends",
        "  a                       ready: moves data",
        "  b                       not ready: it is not there",
        "                          -> get it",
        "  c                       ready: moves data",
        "                          but it is slow",
        "                          -> mend it",
    ]
    assert lines[10:13] == [
        "environment",
        "  RANK                    1",
        "  NCCL_NET                IB (/etc/nccl.conf)",
    ]


def reading(state: str, source: str = "hccn_tool -i 0 -link -g", reason: str | None = None) -> dict[str, Any]:
    return {"state": state, "source": source, "reason": reason, "values": {}, "counters": {}, "momentary": {}}


def test_accelerators_of_all_vendors_and_what_was_asked_in_vain() -> None:
    def lines(**devices: list[dict[str, Any]] | None) -> list[str]:
        told = {vendor: {"devices": found, "readings": {}} for vendor, found in devices.items()}
        return [" ".join(line.split()) for line in render(record({"accelerators": told})).splitlines()[3:-2]]

    def device(number: int, *states: str, **more: Any) -> dict[str, Any]:
        readings = {f"q{n}": reading(state, reason="it hung") for n, state in enumerate(states)}
        return {"id": number, "name": "X1", "bus": None, "readings": readings, **more}

    assert lines(ascend=None, nvidia=[]) == ["NPUs unknown", "NVIDIA GPUs none"]
    npu = device(4, "told", "late", "absent", present=False, address="192.0.2.1", card=2, chip=0)
    assert lines(ascend=[npu], amd=[device(0, "told")]) == [
        "device name PCI told by tools",
        "npu4 X1 - card 2 chip 0, address 192.0.2.1, no /dev/davinci4, 1 answer",
        "hccn_tool late: it hung (`hccn_tool -i 0 -link -g`)",
        "device name PCI told by tools",
        "gpu0 X1 - 1 answer",
    ]


def test_an_unknown_speed_says_why() -> None:
    assert line_of(interface(virtual=True)).startswith("state unknown, speed unknown (virtual interface), MTU unknown")
    assert "speed unknown (the link is down)" in line_of(interface(state="down", virtual=False))
    assert "speed unknown (driver d does not tell)" in line_of(interface(state="up", driver="d"))
    assert "speed unknown, MTU" in line_of(interface())


def test_a_card_and_a_loopback() -> None:
    card = interface(
        state="up", speed_bytes_per_second=25 * 10**9, duplex="full", mtu=9000, driver="d", pci_slot="0000:01:00.0",
        numa_node=1, virtual=False, loopback=False, addresses=["10.0.0.1/8", "2001:db8::1/64"],
    )  # fmt: skip
    assert line_of(card) == (
        "state up, speed 200 Gb/s full duplex, MTU 9000, driver d, PCI 0000:01:00.0, NUMA node 1, "
        "10.0.0.1/8 2001:db8::1/64"
    )
    loopback = line_of(interface(state="unknown", mtu=1, virtual=True, loopback=True))
    assert loopback == "state unknown, loopback, MTU 1, no address"
    assert line_of(interface(virtual=True, addresses=None)).endswith("addresses unknown")


FULL: dict[str, Any] = {
    "cpu": {
        "model": "Quux 9000", "architecture": "made64", "sockets": 2, "installed_cores": 8, "logical_cpus": 16,
        "offline_cpus": [9],
        "threads_per_core": 2, "allowed_cpus": [0, 1, 2, 8], "core_cpus": [0, 1, 2], "physical_cores": 2,
        "caches": [
            {"level": 1, "type": "data", "size_bytes": 49152, "shared_by": 1},
            {"level": 1, "type": "instruction", "size_bytes": None, "shared_by": None},
            {"level": 3, "type": "unified", "size_bytes": 24 << 20, "shared_by": 2},
        ],
        "last_level_cache_bytes": 24 << 20, "last_level_cache_shared_by": 2, "governor": "performance",
        "frequency": {"governors": {"performance": 16}, "least": 8 * 10**8, "most": 2 * 10**9, "hardware": None},
        "virtual_machine": "kvm", "flags": ["avx2", "f16c"],
    },
    "memory": {
        "total_bytes": 64 << 30, "available_bytes": 3 << 29, "page_bytes": 4096, "oom_kills": 0,
        "swap_bytes": 2 << 20, "swap_free_bytes": 1 << 20,
        "huge_pages": 6, "huge_pages_free": 5, "huge_page_bytes": 2 << 20, "transparent_huge_pages": "madvise",
        "shm_bytes": 64 << 20, "shm_free_bytes": 32 << 20,
    },
    "numa": {
        "nodes": [
            {"id": 0, "cpus": [0, 1], "memory_bytes": 2 << 30, "memory_free_bytes": 1 << 30, "distances": [10, 21]},
            {"id": 1, "cpus": [], "memory_bytes": None, "memory_free_bytes": None, "distances": None},
        ],
        "balancing": True,
    },
    "cgroup": {
        "version": "v2", "memory_limit_bytes": 4 << 30, "memory_source": "/g/memory.max", "memory_used_bytes": 1 << 30,
        "memory_headroom_bytes": 3 << 30, "cpu_quota": 2.5, "cpus": [0, 1, 2, 8], "pids_limit": 100, "container": None,
        "oom_kills": 3,
    },
    "limits": {
        "memlock": {"soft": 65536, "hard": "unlimited"}, "nofile": {"soft": 1024, "hard": 4096}, "nproc": None,
        "stack": {"soft": 8 << 20, "hard": None}, "core": {"soft": 0, "hard": 0},
        "kernel": {
            "somaxconn": 4096, "tcp_max_syn_backlog": 1024, "port_range": [32768, 60999],
            "reserved_ports": [[8080, 8080], [60000, 60031]], "rmem_max": 1 << 20, "wmem_max": None,
            "reverse_path_filter": {"all": 0, "eth0": 1, "eth1": 2}, "pid_max": 32768, "threads_max": None,
            "max_map_count": 65530, "options": ["iommu=pt"],
        },
    },
    "software": {
        "system": "Made Up Linux", "kernel": "9.1", "c_library": "libc 5", "python": "3.99.1",
        "packages": {"numpy": "9.9", "torch": None},
        "launchers": [
            {"name": "mpirun", "path": "/opt/mpirun", "version": "Made MPI 4.2"},
            {"name": "torchrun", "path": "/opt/torchrun", "version": None},
        ],
        "libraries": [
            {"name": "nccl", "version": "2.99.1", "path": "/made/libnccl.so.2.99.1", "preferred": True},
            {"name": "mpi", "version": None, "path": "/usr/lib/libmpi.so", "preferred": False},
        ],
        "cuda": "99.1", "rocm": None, "drivers": {"nvidia": "999.1", "ascend": None},
    },
}  # fmt: skip


def test_a_full_host() -> None:
    text = render(record(FULL))
    assert (
        text
        == """\
# opsdist 9.9 info on made-up

cpu
  model                   Quux 9000
  architecture            made64
  sockets                 2
  cores                   2 usable of 8
  threads per core        2
  logical CPUs            16, allowed: 0-2, 8
  switched off            9
  one CPU of each core    0-2
  caches                  L1d 48 KiB, L1i unknown, L3 24 MiB shared by 2
  governor                performance
  frequency               0.80 GHz to 2.00 GHz allowed, the processor can unknown
  virtual machine         kvm
  flags                   avx2 f16c

memory
  total                   64 GiB
  available               1.5 GiB
  page                    4 KiB
  swap                    1 MiB of 2 MiB free
  huge pages              5 of 6 free, 2 MiB each
  transparent huge pages  madvise
  /dev/shm                32 MiB of 64 MiB free
  processes ended for it  0

numa
  node  memory               distances  CPUs
  0     1 GiB of 2 GiB free  10 21      0-1
  1     unknown              unknown    none
  automatic balancing     on

cgroup
  container               no sign of one
  version                 v2
  memory limit            4 GiB (/g/memory.max)
  memory used             1 GiB
  memory left             3 GiB
  CPU quota               2.5 CPUs
  CPUs                    0-2, 8
  processes               100
  ended for memory        3

limits
  limit    soft     hard
  memlock  64 KiB   unlimited
  nofile   1024     4096
  nproc    unknown  unknown
  stack    8 MiB    unknown
  core     0 B      0 B
  somaxconn               4096
  tcp_max_syn_backlog     1024
  outgoing ports          32768-60999
  but for                 8080, 60000-60031
  socket buffers, most    1 MiB in, unknown out
  reverse path filter     strict on eth0
  processes               32768 ids, unknown threads
  mappings of a process   65530
  kernel options          iommu=pt

software
  system                  Made Up Linux
  kernel                  9.1
  C library               libc 5
  Python                  3.99.1
  numpy                   9.9
  not installed           torch
  CUDA                    99.1
  nvidia driver           999.1
  ascend driver           version unknown
  libnccl                 /made/libnccl.so.2.99.1, before those of the system
  libmpi                  /usr/lib/libmpi.so
  mpirun                  /opt/mpirun, Made MPI 4.2
  torchrun                /opt/torchrun, version unknown

info: 6 sections read, nothing to remark"""
    )


@settings(deadline=None, max_examples=50)
@given(texts=st.lists(TEXT, min_size=1, max_size=6))
@example(texts=["\N{SUPERSCRIPT TWO}"])  # a digit that is no number
def test_whatever_a_host_answers_is_a_valid_record_and_fits(texts: list[str | None]) -> None:
    found = reported(ScrambledHost(texts)).record()
    validate(found)
    assert all(len(line) < 100 and line.isprintable() for line in render(found).split("\n"))


def test_what_there_is_none_of() -> None:
    facts = {
        "cpu": {**FULL["cpu"], "flags": []},
        "memory": {**FULL["memory"], "swap_bytes": 0, "huge_pages": 0},
        "numa": {"nodes": None, "balancing": False},
        "software": {**FULL["software"], "packages": None, "launchers": []},
    }
    lines = [" ".join(line.split()) for line in render(record(facts)).splitlines()]
    for line in (
        "flags none of interest",
        "swap none",
        "huge pages none",
        "nodes unknown",
        "automatic balancing off",
        "packages unknown",
        "launchers none on PATH",
    ):
        assert line in lines


def test_hosts_of_which_all_reads_the_same_share_a_text() -> None:
    told = record({})
    small, large = ({"limits": {**FULL["limits"], "nofile": {"soft": n, "hard": n}}} for n in (64, 128))
    told["hosts"] = [{"name": f"n{number}", "facts": large if number == 3 else small} for number in (1, 2, 3)]
    told["differences"] = [
        {"key": "limits.nofile.soft", "majority": 64, "outliers": {"n3": 128}},
        {"key": "software.kernel", "majority": None, "outliers": {"n1": "a", "n2": "a", "n3": None}},
    ]
    text = render(told)
    assert text.startswith("# opsdist 9.9 info on n[1-3]\n\nlimits on n[1-2]\n")
    assert "\nlimits on n3\n" in text
    assert "\ndifferences\n  limits.nofile.soft (most: 64): n3: 128\n" in text
    assert "\n  software.kernel: n[1-2]: a; n3: unknown\n" in text
    assert text.endswith("info: 1 section read on 3 hosts, nothing to remark")
