"""Made-up AMD hosts in the formats of amd-smi and rocm-smi."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

XGMI = ("XGMI", 15, 1)
PCIE = ("PCIE", 72, 3)
Cell = tuple[str, int, int]
"""Link, weight, hops."""
BUSES = tuple(f"0000:{number:02x}:00.0" for number in (0x0A, 0x1B, 0x8C, 0x9D, 0xA1, 0xA2, 0xB3, 0xC4))


def links(count: int, **odd: Cell) -> Callable[[int, int], Cell]:
    """XGMI everywhere but between pairs such as `p02`."""

    def cell(one: int, other: int) -> Cell:
        return odd.get(f"p{min(one, other)}{max(one, other)}", XGMI)

    return cell


def two_hives(one: int, other: int) -> Cell:
    """Of four GPUs each."""
    return XGMI if one // 4 == other // 4 else PCIE


def amd_smi(
    count: int, cell: Callable[[int, int], Cell], *, between: str = "\n", no_access: Sequence[tuple[int, int]] = ()
) -> str:
    """`amd-smi topology`. `between` tables stands an empty line, or in other releases none."""
    names = BUSES[:count]
    tables: Mapping[str, Callable[[int, int], object]] = {
        "ACCESS": lambda one, other: "DISABLED" if (one, other) in no_access else "ENABLED",
        "WEIGHT": lambda one, other: 0 if one == other else cell(one, other)[1],
        "HOPS": lambda one, other: 0 if one == other else cell(one, other)[2],
        "LINK TYPE": lambda one, other: "SELF" if one == other else cell(one, other)[0],
        "NUMA BW": lambda one, other: "N/A" if one == other else "50000-50000",
    }
    parts = [f"{title} TABLE:\n{_matrix(names, value)}" for title, value in tables.items()]
    return between.join(parts) + "\n\nLegend:\n  SELF = Current GPU\n  N/A = Not supported\n"


def rocm_smi(count: int, cell: Callable[[int, int], Cell]) -> str:
    """`rocm-smi --showtopo`."""
    names = [f"GPU{number}" for number in range(count)]
    tables: Mapping[str, Callable[[int, int], object]] = {
        "Weight": lambda one, other: 0 if one == other else cell(one, other)[1],
        "Hops": lambda one, other: 0 if one == other else cell(one, other)[2],
        "Link Type": lambda one, other: 0 if one == other else cell(one, other)[0],
    }
    parts = [f"===== {title} between two GPUs =====\n{_matrix(names, value)}\n" for title, value in tables.items()]
    nodes = "".join(
        f"GPU[{number}]\t\t: (Topology) Numa Node: {number // 4}\nGPU[{number}]\t\t: (Topology) Numa Affinity: 0\n"
        for number in range(count)
    )
    head, foot = "\n====== ROCm System Management Interface ======\n", "====== End of ROCm SMI Log ======\n"
    return head + "".join(parts) + "====== Numa Nodes ======\n" + nodes + foot


def _matrix(names: Sequence[str], value: Callable[[int, int], object]) -> str:
    header = " " * 13 + " ".join(name.ljust(12) for name in names)
    rows = [
        " ".join([name.ljust(12), *(str(value(one, other)).ljust(12) for other in range(len(names)))])
        for one, name in enumerate(names)
    ]
    return "\n".join([header, *rows, ""])


def blocks(section: str, *gpus: Mapping[str, object]) -> str:
    """`amd-smi metric` and its like: a block of `KEY: value` for each GPU."""
    return "".join(
        f"GPU: {number}\n    {section}:\n"
        + "".join(f"        {key}: {value}\n" for key, value in fields.items())
        + "\n"
        for number, fields in enumerate(gpus)
    )


def listed(*buses: str) -> str:
    """`amd-smi list`."""
    return "".join(
        f"GPU: {number}\n    BDF: {bus}\n    UUID: 00000000-0000-1000-8000-00000000000{number}\n\n"
        for number, bus in enumerate(buses)
    )


VERSION = "AMDSMI Tool: 99.1.0+abc | AMDSMI Library version: 99.1.0 | ROCm version: 9.9.1 | amdgpu version: 9.8.7\n"
NO_DRIVER = "ERROR:root:Driver not initialized (amdgpu not found in modules)\n"
