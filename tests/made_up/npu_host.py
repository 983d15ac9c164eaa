"""A host with eight 910B3, as its tools would speak of it: healthy, or with the ills that a test gives it.

The forms are those of npu-smi and hccn_tool; names, addresses and numbers are made up.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

CARDS = 8
_RULE = "+---------------------------+---------------+----------------------------------------------------+"
_AFFINITY = ("144-167", "144-167", "96-119", "96-119", "0-23", "0-23", "48-71", "48-71")
_BUSES = ("c1", "c2", "81", "82", "41", "42", "01", "02")
_COUNTERS = (
    "mac_rx_bad_pkt_num", "mac_rx_fcs_err_pkt_num", "roce_rx_err_pkt_num", "roce_tx_err_pkt_num",
    "roce_new_pkt_rty_num", "roce_out_of_order_num", "roce_unexpected_ack_num", "roce_verification_err_num",
)  # fmt: skip


@dataclass(frozen=True)
class NpuHost:
    """`alarm`: cards with that health; `unlinked`: ports that are down; `on_pcie`: a card whose HCCS links are gone;
    `subnet`: the third part of its ports' addresses; `driver` and `mtu` can differ from those of other hosts."""

    subnet: int = 1
    driver: str = "24.1.0"
    mtu: int = 4200
    alarm: Collection[int] = ()
    unlinked: Collection[int] = ()
    on_pcie: int | None = None
    gone: Collection[int] = ()
    errors: dict[int, int] = field(default_factory=dict)
    """Card -> what its error counters show."""

    @property
    def cards(self) -> list[int]:
        return [card for card in range(CARDS) if card not in self.gone]

    def files(self) -> dict[str, str]:
        cards = range(CARDS)
        return {
            "/etc/hccn.conf": "".join(
                f"address_{card}={self._address(card)}\nnetmask_{card}=255.255.255.0\n"
                f"netdetect_{card}=192.0.{self.subnet}.1\ngateway_{card}=192.0.{self.subnet}.1\n"
                for card in cards
            ),
            "/usr/local/Ascend/driver/version.info": f"Version={self.driver}\ncompatible_version_fw=[7.5.0,7.5.99]\n",
            "/usr/local/Ascend/firmware/version.info": f"Version=7.5.0.1\ncompatible_version_drv=[{self.driver},]\n",
            "/proc/sys/kernel/hostname": "made-up\n",
            **{f"/dev/davinci{card}": "" for card in self.cards},
        }

    def commands(self) -> dict[str, str]:
        cards = self.cards
        found = {
            "npu-smi info": self._table(),
            "npu-smi info -l": f"\tTotal Count                    : {len(cards)}\n"
            + "".join(
                f"\n\tNPU ID                         : {card}\n\tChip Count                     : 1\n" for card in cards
            ),
            "npu-smi info -m": "".join(
                "\t" + "".join(f"{cell:<31}" for cell in row).rstrip() + "\n"
                for row in (
                    ("NPU ID", "Chip ID", "Chip Logic ID", "Chip Name"),
                    *((str(card), "0", str(place), "Ascend 910B3") for place, card in enumerate(cards)),
                )
            ),
            "npu-smi info -t topo": self._topology(),
            "lspci": "".join(
                f"{_BUSES[card]}:00.0 Processing accelerators: Huawei Technologies Co., Ltd. Device d802 (rev 20)\n"
                for card in cards
            ),
        }
        for card in cards:
            found |= self._of_card(card) | self._of_port(card)
        return found

    def write(self, folder: Path) -> Path:
        """As a recorded host."""
        for path, text in self.files().items():
            place = folder / path.lstrip("/")
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text)
        (folder / "commands").mkdir()
        for line, text in self.commands().items():
            (folder / "commands" / line).write_text(text)
        return folder

    def _address(self, card: int) -> str:
        return f"192.0.{self.subnet}.{10 + card}"

    def _health(self, card: int) -> str:
        return "Alarm" if card in self.alarm else "OK"

    def _table(self) -> str:
        lines = [
            f"| npu-smi {self.driver:<16} Version: {self.driver:<45}|", _RULE,
            "| NPU   Name                | Health        | Power(W)    Temp(C)           Hugepages-Usage(page)|",
            "| Chip                      | Bus-Id        | AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)        |",
            _RULE.replace("-", "="),
        ]  # fmt: skip
        for card in self.cards:
            power = f"{90 + card}.5        4{card}                0    / 0             |"
            memory = "0           0    / 0          3318 / 65536         |"
            lines += [
                f"| {card:<5} 910B3               | {self._health(card):<13} | {power}",
                f"| 0                         | 0000:{_BUSES[card].upper()}:00.0  | {memory}",
                _RULE.replace("-", "="),
            ]
        return "\n".join([*lines, ""])

    def _topology(self) -> str:
        def cell(one: int, other: int) -> str:
            return "X" if one == other else "SYS" if self.on_pcie in (one, other) else "HCCS"

        head = "\t   " + "".join(f"NPU{card:<8}" for card in self.cards) + "CPU Affinity"
        rows = [
            f"NPU{one:<8}" + "".join(f"{cell(one, other):<11}" for other in self.cards) + _AFFINITY[one]
            for one in self.cards
        ]
        return "\n".join([head, *rows, "", "Legend:", "", "  X    = Self", "  HCCS = Connection traversing HCCS.", ""])

    def _of_card(self, card: int) -> dict[str, str]:
        lost = self.on_pcie == card
        lanes = "[0  0  0  0  0  0  0 ]" if lost else "[4  4  4  4  4  4  4 ]"
        several = {
            "board": {
                "NPU ID": card, "Software Version": self.driver, "Firmware Version": "7.5.0.1", "Compatibility": "OK",
            },
            "health": {"Health Status": self._health(card), "Error Code": "80E01801" if card in self.alarm else "NA"},
            "common": {
                "NPU ID": card, "Aicore Freq(MHZ)": 1800, "Aicore curFreq(MHZ)": 800, "Temperature(C)": 40 + card,
            },
            "usages": {"NPU ID": card, "HBM Capacity(MB)": 65536, "HBM Usage Rate(%)": 5, "Aicore Usage Rate(%)": 0},
            "ecc": {"NPU ID": card, "HBM Single Bit Error Count": 0, "HBM Double Bit Error Count": 0},
            "hccs": {
                "hccs health status": "NOK" if lost else "OK", "hccs lane mode": lanes,
                "hccs link speed": "[224 224 224 224 224 224 224]", "hccs error count": "[0 0 0 0 0 0 0]",
                "hccs retry count": "[0 0 0 0 0 0 0]", "hccs first error lane": "NA",
            },
        }  # fmt: skip
        said = {
            kind: "".join(f"\t{key:<30} : {value}\n" for key, value in rows.items()) for kind, rows in several.items()
        }
        cardwise = {f"npu-smi info -t board -i {card}": said["board"]}
        return cardwise | {f"npu-smi info -t {kind} -i {card} -c 0": said[kind] for kind in said if kind != "board"}

    def _of_port(self, card: int) -> dict[str, str]:
        down = card in self.unlinked
        amount = self.errors.get(card, 0)
        said = {
            "link": f"link status: {'DOWN' if down else 'UP'}\n",
            "net_health": f"net health status: {'Fault' if down else 'Success'}\n",
            "ip": f"ipaddr:{self._address(card)}\nnetmask:255.255.255.0\n",
            "netdetect": f"netdetect addr: 192.0.{self.subnet}.1\n",
            "gateway": f"default gateway:192.0.{self.subnet}.1, Iface:eth{card}\n",
            "speed": "Speed: 200000 Mb/s\n",
            "duplex": "Duplex: Full\n",
            "mtu": f"mtu:{self.mtu}\n",
            "fec": "fec mode: rs FEC mode\n",
            "tls": f"dev_id:{card}, tls switch[0](0:disable, 1:enable), tls preconfigured[1](0:non-preset, 1:preset), "
            "tls alarm time threshold[60]days\n",
            "stat": "packet statistics:\n" + "".join(f"{name}:{amount}\n" for name in _COUNTERS)
            + f"mac_rx_total_pkt_num:{1000 + card}\nmac_tx_total_pkt_num:{2000 + card}\n",
        }  # fmt: skip
        return {f"hccn_tool -i {card} -{kind} -g": text for kind, text in said.items()}
