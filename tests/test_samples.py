"""Real outputs of tools, where a collection of them lies beside the checkout; INDEX.tsv says which are of sick ones.

A sick sample has a finding with a remedy; a healthy one, and one that only looks sick, has none; and whatever is cut
out of any of them or put into it, nothing breaks. Some are sick only beside a healthy one, which is then another host.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from probes.errors import ProbeError
from suites.hostinfo import Looked, Wanted
from suites.inforeport import Measure, report
from suites.recorded import seen_at
from suites.report import Finding, Status, now
from tests.mutation import spoiled

COLLECTION = Path(__file__).parents[2] / "shared" / "fixtures"
NO_PROBES = ("hccl_test", "nccl_tests")
"""Outputs of benchmarks."""
BESIDE = {
    "hccn_fec_none.txt": "hccn_fec_rs.txt",
    "nvidia-smi_topo_m_2gpu_phb.txt": "nvidia-smi_topo_m_2gpu_nv2.txt",
    "lspci_acce_7of8.txt": "lspci_acce_8of8.txt",
}
HEALTHY = {
    "ip_j_link_mtu_1500.json": ('"mtu": 1500', '"mtu": 9192'),
    "sysfs_infiniband_bad_rate_100.txt": ("100 Gb/sec (4X EDR)", "200 Gb/sec (4X HDR)"),
}
"""Sick only beside a healthy one that the collection lacks: what is written otherwise in that."""
DEVICES = {
    "npu-smi_info_910b3_alarm_and_missing_npu5.txt": {"npu3"},
    "npu-smi_topo_910b3_npu5_fell_to_sys.txt": {"npu5"},
    "nvidia-smi_topo_m_h100_nvlink_lost_gpu3.txt": {"gpu3"},
    "nvidia-smi_topo_m_h100_uneven_nvlink.txt": {"gpu5"},
    "nvidia-smi_nvlink_s_two_links_inactive.txt": {"gpu0"},
    "nvidia-smi_query_gpu_h100_health.txt": {"gpu2", "gpu3", "gpu4"},
    "ibstat_h100_some_down_polling.txt": {"mlx5_11"},
    "ibstat_a100_ibpanic_exit255.txt": {"mlx5_8"},
    "sysfs_infiniband_stuck_init.txt": {"mlx5_8"},
    "ethtool_no_cable.txt": {"ens801f0np0"},
}
"""Which devices are to be named."""


def found(folder: Path, *files: Path) -> list[Finding]:
    """What is said of hosts of which each has one of the files."""
    hosts = []
    for number, file in enumerate(files):
        host = folder / f"host{number}"
        host.mkdir(parents=True)
        shutil.copy(file, host / file.name)
        hosts.append(host)
    return report(["opsdist"], now(), Looked(*seen_at(hosts, Wanted())), Measure()).findings


def troubles(findings: list[Finding]) -> list[Finding]:
    return [finding for finding in findings if finding.status in (Status.FAIL, Status.WARN, Status.ERROR)]


if COLLECTION.is_dir():
    ROWS = [line.split("\t") for line in (COLLECTION / "INDEX.tsv").read_text().splitlines()[1:]]
    SAMPLES = {
        COLLECTION / path: verdict for path, verdict, *_ in ROWS if not path.rpartition("/")[2].startswith(NO_PROBES)
    }

    @pytest.mark.parametrize(
        "path", [path for path in SAMPLES if SAMPLES[path] == "faulty"], ids=lambda path: path.name
    )
    def test_a_sick_sample_has_a_finding(path: Path, tmp_path: Path) -> None:
        files = [path]
        if path.name in BESIDE:
            files.append(path.parent / BESIDE[path.name])
        elif path.name in HEALTHY:
            twin = tmp_path / path.name
            twin.write_text(path.read_text().replace(*HEALTHY[path.name]))
            files.append(twin)
        said = [each for each in troubles(found(tmp_path / "hosts", *files)) if each.status is not Status.ERROR]
        assert said
        assert all(each.remedy for each in said)
        assert DEVICES.get(path.name, set()) <= {each.subject.get("device") for each in said}

    @pytest.mark.parametrize(
        "path", [path for path in SAMPLES if SAMPLES[path] != "faulty"], ids=lambda path: path.name
    )
    def test_what_is_well_has_none(path: Path, tmp_path: Path) -> None:
        assert troubles(found(tmp_path, path)) == []

    @settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
    @given(data=st.data())
    def test_nothing_breaks_on_what_is_spoiled(
        path: Path, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        folder = tmp_path_factory.mktemp("spoiled")
        file = folder / path.name
        file.write_bytes(data.draw(spoiled(path.read_bytes())))
        try:
            findings = found(folder / "hosts", file)
        except ProbeError:  # nothing is left by which it is known
            return
        broken = [each for each in findings if each.status is Status.ERROR]
        assert [each for each in broken if "hung" not in each.check] == []
