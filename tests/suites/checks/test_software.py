"""Rules about software."""

from __future__ import annotations

from typing import Any

import pytest

from suites.report import Status
from tests.suites.checks.plain_hosts import GPUS, NPUS, found_on, host, silent
from tests.suites.checks.ruled import fleet, ruled, statuses


def packaged(*rows: str, files: dict[str, str] | None = None, **environ: str) -> dict[str, Any]:
    """With these packages."""
    listed = "\n".join(["Package Version", "------- -------", *(row.replace("==", " ") for row in rows)])
    return host("software", commands={"pip list": listed}, files=files, **environ)


@pytest.mark.parametrize(
    ("rows", "found"),
    [
        (("torch==2.6.0+cpu", "torch_npu==2.6.0.post3"), []),
        (("torch==2.6.1", "torch-npu==2.6.0rc1"), []),
        (("torch==2.5.1", "torch_npu==2.6.0"), [Status.FAIL]),
        (("torch==2.1.0", "torch_npu==2.10.0"), [Status.FAIL]),
        (("torch_npu==2.6.0",), [Status.FAIL]),
        (("torch==2.6.0",), []),
    ],
)
def test_torch_and_torch_npu(rows: tuple[str, ...], found: list[Status]) -> None:
    assert statuses(found_on("software.torch_npu_mismatch", packaged(*rows))) == found


def test_a_list_that_went_through_grep_does_not_tell_what_is_missing() -> None:
    assert silent("software.torch_npu_mismatch", host("software", commands={"pip list": "torch-npu 2.6.0\n"}))


def test_the_remedy_names_the_torch_to_install() -> None:
    (finding,) = found_on("software.torch_npu_mismatch", packaged("torch==2.5.1", "torch_npu==2.6.0"))
    assert (finding.remedy or "").startswith("pip install torch==2.6.*")


@pytest.mark.parametrize(
    ("rows", "path", "found"),
    [
        (("nvidia-nccl-cu12==2.99.5",), "/made/libnccl.so.2.88.3", [Status.WARN]),
        (("nvidia-nccl-cu12==2.99.5",), "/made/libnccl.so.2.99.5", []),
        (("nvidia-nccl-cu12==2.99.5",), "/made/libnccl.so.2", []),  # which 2 it is nobody tells
        (("nvidia-nccl-cu12==2.99.5",), "/usr/lib64/libnccl.so.2.88.3", []),  # PyTorch finds its own before
        (("nvidia-nccl-cu11==2.9", "nvidia-nccl-cu12==2.9"), "/none", [Status.WARN]),
        (("torch==2.6",), "/made/libnccl.so.2.88.3", []),
    ],
)
def test_two_nccl(rows: tuple[str, ...], path: str, found: list[Status]) -> None:
    facts = packaged(*rows, files={path: ""}, LD_LIBRARY_PATH="/made")
    assert statuses(found_on("software.two_nccl", facts)) == found


def launched(mpirun: str, mpiexec: str, files: dict[str, str] | None = None, **environ: str) -> dict[str, Any]:
    programs = {"/bin/mpirun": "", "/bin/mpiexec": "", **(files or {})}
    commands = {"/bin/mpirun --version": mpirun, "/bin/mpiexec --version": mpiexec}
    return host("software", commands=commands, files=programs, PATH="/bin", **environ)


OPEN, HYDRA = "mpirun (Open MPI) 9.1.4\n", "HYDRA build details:\n    Version: 9.1\n"


def test_launchers_of_two_mpis() -> None:
    (finding,) = found_on("software.two_mpi", launched(OPEN, HYDRA))
    assert finding.status is Status.WARN
    assert "mpiexec is MPICH's" in finding.message
    assert "mpirun is Open MPI's" in finding.message
    assert silent("software.two_mpi", launched(OPEN, "mpiexec (OpenRTE) 9.1.4\n"))


def test_a_launcher_and_the_library_of_another_mpi() -> None:
    of_mpich = launched(OPEN, OPEN, {"/made/libmpi.so.12.1.8": ""}, LD_LIBRARY_PATH="/made")
    assert statuses(found_on("software.two_mpi", of_mpich)) == [Status.WARN]
    assert silent("software.two_mpi", launched(HYDRA, HYDRA, {"/made/libmpi.so.12": ""}, LD_LIBRARY_PATH="/made"))
    assert silent("software.two_mpi", launched(OPEN, OPEN, {"/made/libmpi.so.40.1": ""}, LD_LIBRARY_PATH="/made"))


def test_accelerators_of_two_makers_are_a_remark() -> None:
    both = host("software", "accelerators", commands=GPUS, files=NPUS)
    assert statuses(found_on("software.several_drivers", both)) == [Status.INFO]
    loaded = host("software", files={"/sys/module/nvidia/version": "9", "/sys/module/amdgpu/version": "8"})
    assert statuses(found_on("software.several_drivers", loaded)) == [Status.INFO]
    assert silent("software.several_drivers", host("software", files={"/sys/module/nvidia/version": "9"}))


def test_kernels_of_a_fleet() -> None:
    old, new = (host("software", files={"/proc/sys/kernel/osrelease": f"{text}\n"}) for text in ("9.1.0-1", "9.1.0-2"))
    (finding,) = fleet("software.system_differs", a=new, b=new, c=old)
    assert (finding.status, finding.subject) == (Status.WARN, {"host": "c"})
    assert finding.message == "the kernel is 9.1.0-1, and 9.1.0-2 on 2 of 3"


def test_packages_of_a_fleet() -> None:
    usual = packaged("torch==9.1", "mpi4py==9")
    (finding,) = fleet("software.packages_differ", a=usual, b=usual, c=packaged("torch==9.1"))
    assert finding.message == "mpi4py is not installed, and 9 on 2 of 3"
    unknown = host("software")
    assert Status.WARN not in statuses(fleet("software.packages_differ", a=usual, b=usual, c=unknown))


def test_nothing_is_known() -> None:
    facts = host("software", "accelerators")
    assert [ruled(f"software.{name}", facts) for name in ("torch_npu_mismatch", "two_nccl", "two_mpi")] == [[], [], []]


def test_one_maker_is_no_remark() -> None:
    facts = host("software", "accelerators", commands=GPUS, files={"/sys/module/nvidia/version": "9"})
    assert statuses(ruled("software.several_drivers", facts)) == [Status.PASS]


def test_two_nccl_without_pip() -> None:
    both = {"/made/libnccl.so.2.88.3": "", "/usr/lib64/libnccl.so.2.99.5": ""}
    (finding,) = found_on("software.two_nccl", host("software", files=both, LD_LIBRARY_PATH="/made"))
    assert "leads to NCCL 2.88.3 (/made/libnccl.so.2.88.3)" in finding.message
    assert "beside it: /usr/lib64/libnccl.so.2.99.5 2.99.5" in finding.message
    alone = host("software", files={"/made/libnccl.so.2.88.3": ""}, LD_LIBRARY_PATH="/made")
    assert ruled("software.two_nccl", alone) == []


def test_a_library_of_the_system_is_not_what_a_program_was_led_to() -> None:
    assert silent("software.two_mpi", launched(OPEN, OPEN, {"/usr/lib64/libmpi.so.12": ""}))


def test_libraries_and_launchers_of_a_fleet() -> None:
    def with_nccl(version: str) -> dict[str, Any]:
        return host("software", files={f"/usr/lib64/libnccl.so.{version}": "", "/usr/lib64/libmpi.so.40": ""})

    usual = with_nccl("2.99.5")
    (finding,) = fleet("software.packages_differ", a=usual, b=with_nccl("2.88.3"), c=usual)
    assert finding.message == "NCCL is 2.88.3, and 2.99.5 on 2 of 3"
    usual = launched(OPEN, OPEN)
    (finding,) = fleet("software.packages_differ", a=usual, b=launched(HYDRA, HYDRA), c=usual)
    assert finding.message.startswith("MPI's launcher is HYDRA build details:, and mpirun (Open MPI) 9.1.4 on 2")
