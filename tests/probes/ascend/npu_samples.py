"""What `npu-smi` prints, in its form and with made-up numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

_WIDE = "+" + "-" * 96 + "+\n"
_RULER = "+===========================+===============+====================================================+\n"
_TITLE = "| npu-smi 99.1.rc1                 Version: 99.1.rc1                                             |\n"
_HEAD = (
    "| NPU   Name                | Health        | Power(W)    Temp(C)           Hugepages-Usage(page)|\n"
    "| Chip                      | Bus-Id        | AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)        |\n"
)
_PROCESSES = "| NPU     Chip              | Process id    | Process name             | Process memory(MB)      |\n"


def rows(card: int, health: str = "OK", name: str = "910B3", hbm: str = "3300 / 65536", temperature: int = 40) -> str:
    """Both rows of one chip."""
    return (
        f"| {card:<5} {name:<20}| {health:<14}| 99.5        {temperature:<18}0    / 0             |\n"
        f"| 0                         | 0000:C{card:X}:00.0  | 0           0    / 0          {hbm:<21}|\n" + _RULER
    )


def table(chips: Iterable[str], processes: Sequence[str] | None = None) -> str:
    """The table of these chips; `processes` are the rows of the second table, where it was not cut off."""
    text = _WIDE + _TITLE + _WIDE + _HEAD + _RULER + "".join(chips)
    if processes is not None:
        text += _WIDE + _PROCESSES + _RULER + "".join(f"{row}\n{_RULER}" for row in processes)
    return text


def eight(**changed: str) -> str:
    """Eight healthy chips, but for those given as `npu3=rows(3, "Alarm")`; an empty text leaves one out."""
    return table(changed.get(f"npu{card}", rows(card)) for card in range(8))


def idle(*cards: int) -> list[str]:
    return [f"| No running processes found in NPU {card}                                    |" for card in cards]


A3 = (
    _WIDE + _TITLE + _WIDE + _HEAD.replace("Chip         ", "Chip  Phy-ID ") + _RULER
    + "| 2     Ascend910           | OK            | 170.5       41                0    / 0             |\n"
    + "| 0     4                   | 0000:9D:00.0  | 7           0    / 0          3422 / 65536         |\n"
    + _WIDE
    + "| 2     Ascend910           | Alarm         | -           40                0    / 0             |\n"
    + "| 1     5                   | 0000:9F:00.0  | 0           0    / 0          3204 / 65536         |\n"
    + _RULER + _WIDE + _PROCESSES + _RULER
    + "| 2       1                 | 4711          | python3                  | 512                     |\n"
    + _RULER
)  # fmt: skip

A950 = """\
+-------------------------------------------------------------------------------------------------+
| npu-smi 99.2                                     Version: 99.2                                  |
+--------+------------------+---------------+-----------------------------------------------------+
| NPU ID | Name             | Health        | Power(W)    Temp(C)           Hugepages-Usage(page) |
|        |                  | Bus-Id        | NPU Util(%) Memory-Usage(MB)  HBM-Usage(MB)         |
+========+==================+===============+=====================================================+
| 3      | Ascend950PR      | Warning       | 298.6       65                0     / 0             |
|        |                  | 0000:F1:00.0  | 12          0    / 0          3993  / 131072        |
+========+==================+===============+=====================================================+
+---------------------------+---------------+-----------------------------------------------------+
| NPU ID                    | Process id    | Process name             | Process memory(MB)       |
+===========================+===============+=====================================================+
| 3                         | 4712          | python3                  | 700                      |
+===========================+===============+=====================================================+
"""

A310P = """\
| npu-smi 99.0                                     Version: 99.0                                  |
+-------------------------------+-----------------+------------------------------------------------------+
| NPU     Name                  | Health          | Power(W)     Temp(C)           Hugepages-Usage(page) |
| Chip    Device                | Bus-Id          | AICore(%)    Memory-Usage(MB)                        |
+===============================+=================+======================================================+
| 5       310P3                 | OK              | NA           44                0     / 0             |
| 1       3                     | 0000:01:00.0    | 0            1846 / 21527                            |
+===============================+=================+======================================================+
"""

A910A = """\
| npu-smi 99.0.rc1.b070            Version: 99.0.rc1.b070                                   |
+----------------------+---------------+----------------------------------------------------+
| NPU   Name           | Health        | Power(W)    Temp(C)           Hugepages-Usage(page)|
| Chip                 | Bus-Id        | AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)        |
+======================+===============+====================================================+
| 0     910A           | OK            | 70.2        37                11   / 22            |
| 0                    | 0000:81:00.0  | 0           1820 / 15137      30750/ 32768         |
+======================+===============+====================================================+
| NPU     Chip         | Process id    | Process name             | Process memory(B)       |
+======================+===============+====================================================+
| 0       0            | 99            | train                    | 5242880                 |
"""


def mapping(columns: Sequence[str], *chips: Sequence[str]) -> str:
    """`npu-smi info -m` with rows of words."""
    return "".join("\t" + "".join(f"{word:<31}" for word in row) + "\n" for row in (columns, *chips))


COLUMNS = ("NPU ID", "Chip ID", "Chip Logic ID", "Chip Name")
COLUMNS_A3 = ("NPU ID", "Chip ID", "Chip Logic ID", "Chip Phy-ID", "Chip Name")
COLUMNS_950 = ("NPU ID", "Slot ID", "Chip ID", "Chip Phy-ID", "Chip Name")


def listing(cards: Iterable[int], chips: int = 1) -> str:
    """`npu-smi info -l`."""
    numbers = list(cards)
    blocks = [f"\tNPU ID                         : {n}\n\tChip Count                     : {chips}\n" for n in numbers]
    return f"\tTotal Count                    : {len(numbers)}\n\n" + "\n".join(blocks)


def lspci(*buses: str) -> str:
    name = "Processing accelerators: Huawei Technologies Co., Ltd. Device d802 (rev 20)"
    return "".join(f"{bus} {name}\n" for bus in buses)


def matrix(cells: Mapping[str, Sequence[str]], affinity: bool = True, legend: bool = True) -> str:
    """`npu-smi info -t topo` of rows of cells by name. Some have no affinity, and what is copied often no legend."""
    head = "\t   " + "".join(f"{name:<11}" for name in cells) + ("CPU Affinity" if affinity else "") + "\n"
    rows = [
        f"{name:<11}" + "".join(f"{cell:<11}" for cell in row) + ("0-23" if affinity else "") + "\n"
        for name, row in cells.items()
    ]
    explained = "\nLegend:\n\n  X    = Self\n  HCCS = Connection traversing HCCS.\n"
    return head + "".join(rows) + (explained if legend else "")


def mesh(size: int = 8, fabric: str = "HCCS", **weak: str) -> str:
    """A full mesh, but for pairs given as `npu1_npu2="SYS"`."""
    names = [f"NPU{number}" for number in range(size)]
    cells = {
        one: [
            "X" if one == other else weak.get("_".join(sorted((one.lower(), other.lower()))), fabric)
            for other in names
        ]
        for one in names
    }  # fmt: skip
    return matrix(cells)


def details(prefix: str = "\t", width: int = 30, **pairs: object) -> str:
    """Lines `key : value`; names of keys have _ for a blank, and end in a unit behind two of them."""
    text = ""
    for name, value in pairs.items():
        words, _, unit = name.partition("__")
        key = words.replace("_", " ") + (f"({unit})" if unit else "")
        text += f"{prefix}{key:<{width}} : {value}\n"
    return text


def pairs_of(told: Mapping[str, object]) -> str:
    """Lines `key : value` of keys as they are printed."""
    return "".join(f"\t{key:<40} : {value}\n" for key, value in told.items())


def links(lanes: Sequence[int], health: str = "OK", name: str = "hccs", **counts: Sequence[int]) -> str:
    """`npu-smi info -t hccs`; `counts` are retry and error, all 0 by default."""
    lists: dict[str, Sequence[object]] = {
        "lane mode": lanes,
        "link lane list": ["1" * count + "0" * (4 - count) for count in lanes],
        "link speed": [56 * count for count in lanes],
        "tx packets": [1000] * len(lanes),
        "retry count": counts.get("retry", [0] * len(lanes)),
        "error count": counts.get("error", [0] * len(lanes)),
    }
    told: dict[str, object] = {f"{name} health status ": health}
    told |= {f"{name} {key} ": "[" + "".join(f"{one!s:<21}" for one in told) + "]" for key, told in lists.items()}
    return pairs_of({**told, f"{name} first error lane ": "NA" if health == "OK" else 4})
