"""Rules about variables of which each is right for itself, and which do not fit together. May import: rule, settings,
report.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from suites.checks.environment.settings import Setting, number, settings
from suites.checks.rule import Case, Judged, Rule, broken, ok
from suites.report import Status

_HCCL = "HCCL user guide, environment variables"
_NCCL = "NCCL user guide, environment variables"
_MOST_SOCKETS = 64
_RANKS = (
    ("RANK", "WORLD_SIZE"),
    ("LOCAL_RANK", "LOCAL_WORLD_SIZE"),
    ("RANK_ID", "RANK_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("SLURM_PROCID", "SLURM_NTASKS"),
    ("NODE_RANK", "NNODES"),
    ("SLURM_NODEID", "SLURM_NNODES"),
)


def _combined(case: Case) -> Iterator[Judged]:
    found = settings(case.facts)
    yield from _switches(found)
    yield from _sockets(found)
    yield from _ranks(found)


def _switches(found: Mapping[str, Setting]) -> Iterator[Judged]:
    def value(name: str) -> str | None:
        return found[name].value.strip() if name in found else None

    if value("HCCL_INTRA_PCIE_ENABLE") == value("HCCL_INTRA_ROCE_ENABLE") == "1":
        message = "HCCL_INTRA_PCIE_ENABLE and HCCL_INTRA_ROCE_ENABLE are both 1, which HCCL does not support"
        evidence = found["HCCL_INTRA_ROCE_ENABLE"].evidence("0", _HCCL)
        yield broken(message, evidence, remedy="unset HCCL_INTRA_ROCE_ENABLE")
    if value("HCCL_WHITELIST_DISABLE") == "0" and not value("HCCL_WHITELIST_FILE"):
        message = "HCCL_WHITELIST_DISABLE=0 asks for a list of allowed hosts, and HCCL_WHITELIST_FILE names none"
        evidence = found["HCCL_WHITELIST_DISABLE"].evidence("1", _HCCL)
        yield broken(message, evidence, remedy="unset HCCL_WHITELIST_DISABLE, or name the list in HCCL_WHITELIST_FILE")
    if value("OMPI_MCA_btl_tcp_if_include") and value("OMPI_MCA_btl_tcp_if_exclude"):
        message = "OMPI_MCA_btl_tcp_if_include and OMPI_MCA_btl_tcp_if_exclude exclude each other"
        evidence = found["OMPI_MCA_btl_tcp_if_exclude"].evidence(source="Open MPI's manual")
        yield broken(message, evidence, remedy="unset one of the two")


def _sockets(found: Mapping[str, Setting]) -> Iterator[Judged]:
    threads, each = number(found, "NCCL_SOCKET_NTHREADS"), number(found, "NCCL_NSOCKS_PERTHREAD")
    if threads is None or each is None:
        return
    if threads * each <= _MOST_SOCKETS:
        yield ok()
        return
    message = f"NCCL_SOCKET_NTHREADS x NCCL_NSOCKS_PERTHREAD is {threads * each}, and may be {_MOST_SOCKETS} at most"
    evidence = found["NCCL_NSOCKS_PERTHREAD"].evidence(_MOST_SOCKETS, _NCCL)
    yield broken(message, evidence, remedy="lower one of the two, for instance to 4 and 4")


def _ranks(found: Mapping[str, Setting]) -> Iterator[Judged]:
    for rank, size in _RANKS:
        first, second = number(found, rank), number(found, size)
        if first is None or second is None:
            continue
        if first < second:
            yield ok()
            continue
        message = (
            f"{rank}={first} is not below {size}={second}: ranks count from 0, so all wait for one that never comes"
        )
        remedy = f"let the launcher set {rank} and {size}; unset what an earlier job left in this shell"
        yield broken(message, found[rank].evidence(second), remedy=remedy)


RULES = (
    Rule(
        name="environment.contradiction",
        summary="variables fit together",
        why="A rank that is not below the number of ranks, and switches that exclude each other, end a job at once "
        "or let it wait forever.",
        remedy="unset what an earlier job left behind, and let the launcher set the ranks",
        status=Status.FAIL,
        needs=("environment",),
        judge=_combined,
    ),
)
