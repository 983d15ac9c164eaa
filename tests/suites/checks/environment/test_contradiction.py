"""Rules about variables that do not fit together."""

from __future__ import annotations

import pytest

from suites.report import Status
from tests.suites.checks.plain_hosts import found_on, set_here, silent


@pytest.mark.parametrize(
    ("environ", "text"),
    [
        ({"RANK": "8", "WORLD_SIZE": "8"}, "RANK=8 is not below WORLD_SIZE=8"),
        ({"RANK_ID": "2", "RANK_SIZE": "1"}, "RANK_ID=2 is not below RANK_SIZE=1"),
        ({"HCCL_INTRA_PCIE_ENABLE": "1", "HCCL_INTRA_ROCE_ENABLE": "1"}, "are both 1"),
        ({"HCCL_WHITELIST_DISABLE": "0"}, "HCCL_WHITELIST_FILE names none"),
        ({"NCCL_SOCKET_NTHREADS": "16", "NCCL_NSOCKS_PERTHREAD": "8"}, "is 128, and may be 64 at most"),
        ({"OMPI_MCA_btl_tcp_if_include": "eth0", "OMPI_MCA_btl_tcp_if_exclude": "lo"}, "exclude each other"),
    ],
)
def test_what_does_not_fit_together(environ: dict[str, str], text: str) -> None:
    (finding,) = found_on("environment.contradiction", set_here(**environ))
    assert finding.status is Status.FAIL
    assert text in finding.message


@pytest.mark.parametrize(
    "environ",
    [
        {"RANK": "7", "WORLD_SIZE": "8"},
        {"RANK": "7"},
        {"RANK": "x", "WORLD_SIZE": "8"},  # that is said by the rule about values
        {"HCCL_INTRA_PCIE_ENABLE": "1", "HCCL_INTRA_ROCE_ENABLE": "0"},
        {"HCCL_WHITELIST_DISABLE": "0", "HCCL_WHITELIST_FILE": "/etc/made-up"},
        {"NCCL_SOCKET_NTHREADS": "8", "NCCL_NSOCKS_PERTHREAD": "8"},
        {"NCCL_SOCKET_NTHREADS": "99"},
        {"NCCL_NSOCKS_PERTHREAD": "99"},
        {"OMPI_MCA_btl_tcp_if_include": "eth0"},
        {"OMPI_MCA_btl_tcp_if_exclude": "lo"},
    ],
)
def test_what_fits_together(environ: dict[str, str]) -> None:
    assert silent("environment.contradiction", set_here(**environ))
