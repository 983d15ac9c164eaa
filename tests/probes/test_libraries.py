"""Libraries, toolkits and drivers, by the names of files."""

from __future__ import annotations

import pytest

from probes import libraries
from tests.tree_host import TreeHost


def test_libraries_by_their_names_with_the_best_version(tree: TreeHost) -> None:
    tree.variables = {"LD_LIBRARY_PATH": "/made/lib::relative", "LD_PRELOAD": "/x/libnccl.so.2.9.9 /y/other.so"}
    tree.write(dict.fromkeys(
        ["/made/lib/libnccl.so", "/made/lib/libnccl.so.2", "/made/lib/libnccl.so.2.99.1", "/made/lib/libmpi.so.40.1.2",
         "/usr/lib64/libnccl.so.2.1.0", "/usr/lib64/libmpi_cxx.so.40"], "",
    ))  # fmt: skip
    found = [(each.name, each.version, each.path, each.preferred) for each in libraries.libraries(tree)]
    assert found == [
        ("nccl", "2.9.9", "/x/libnccl.so.2.9.9", True),
        ("mpi", "40.1.2", "/made/lib/libmpi.so.40.1.2", True),
        ("nccl", "2.99.1", "/made/lib/libnccl.so.2.99.1", True),
        ("nccl", "2.1.0", "/usr/lib64/libnccl.so.2.1.0", False),
    ]


def test_toolkits_tell_their_versions(tree: TreeHost) -> None:
    tree.write({
        "/usr/local/cuda/version.json": '{"cuda": {"name": "CUDA SDK", "version": "99.4.1"}}',
        "/opt/rocm/.info/version": "9.1.0-55",
    })  # fmt: skip
    assert libraries.toolkits(tree) == libraries.Toolkits("99.4.1", "9.1.0-55")
    assert libraries.parse_cuda_text("CUDA Version 9.2.89\n") == "9.2.89"


@pytest.mark.parametrize(
    "text", ["", "junk", "[]", "{}", '{"cuda": 1}', '{"cuda": {"version": 2}}', "[" * 100_000, None]
)
def test_a_version_file_of_another_kind(text: str | None) -> None:
    assert libraries.parse_cuda(text) is None


def test_drivers_that_are_loaded(tree: TreeHost) -> None:
    assert libraries.drivers(tree) is None
    tree.write({"/sys/module/nvidia/version": "999.1", "/sys/module/drv_devmng/x": "", "/sys/module/ext4/x": ""})
    assert libraries.drivers(tree) == {"nvidia": "999.1", "ascend": None}
