"""What hccn_tool says of the state and the settings of a port."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from probes.ascend import hccn_port as port
from probes.reading import Said


@pytest.mark.parametrize(
    ("parse", "text", "values"),
    [
        (port.parse_link, "link status: UP\n", {"status": "UP"}),
        (port.parse_link, "\ufeff\x1b[4m[devid 3]Link  Status : down\x1b[0m\r\n", {"status": "DOWN"}),
        (port.parse_link, "link status:", {}),
        (port.parse_net_health, "net health status: Receive timeout\n", {"status": "Receive timeout"}),
        (
            port.parse_ip,
            "ipaddr:192.0.2.10\nnetmask:255.255.255.0\n",
            {"address": "192.0.2.10", "configured": True, "netmask": "255.255.255.0"},
        ),
        (
            port.parse_ip,
            "ipv6_address:2001:db8::0:7\nprefix_length:64\n",
            {"address": "2001:db8::7", "configured": True, "netmask": "64"},
        ),
        (port.parse_ip, "ipaddr:0.0.0.0\n", {"address": None, "configured": False}),
        (port.parse_ip, "Get ipconf failed, because no ip was preset there!\n", {"configured": False}),
        (port.parse_gateway, "default gateway:192.0.2.1, Iface:eth0\n", {"address": "192.0.2.1", "configured": True}),
        (port.parse_gateway, "Get gateway failed, because no gateway was preset there!", {"configured": False}),
        (port.parse_netdetect, "netdetect addr: 192.0.2.1\n", {"address": "192.0.2.1", "configured": True}),
        (port.parse_netdetect, "netdetect address: 0.0.0.0\n", {"address": None, "configured": False}),
        (port.parse_speed, "Speed: 200000 Mb/s\n", {"mbps": 200000}),
        (port.parse_speed, "Speed: Unknown!\n", {"unknown": True}),
        (port.parse_duplex, "Duplex: Full\n", {"duplex": "Full"}),
        (port.parse_mtu, "mtu:4200\n", {"mtu": 4200}),
        (port.parse_mtu, "mtu:4200.5\n", {}),
        (port.parse_fec, "fec mode: rs FEC mode\n", {"mode": "rs"}),
        (port.parse_fec, "fec mode: no FEC mode\n", {"mode": "no"}),
        (
            port.parse_shaping,
            "bw_limit[10000 Mbps], bw_max[200000 Mbps], bw_cur[10000 Mbps]\n",
            {"bw_limit": 10000, "bw_max": 200000, "bw_cur": 10000},
        ),
        (
            port.parse_auto_downgrade,
            "setting          : enable\nability          : support\ndowngrade status : downgrade success\n",
            {"setting": "enable", "ability": "support", "status": "downgrade success"},
        ),
        (
            port.parse_ub_connect,
            "link status : PARTIAL LINK\nport 4 : UP\nport 5 : PARTIAL UP\n",
            {"status": "PARTIAL LINK", "ports": {"4": "UP", "5": "PARTIAL UP"}},
        ),
    ],
)
def test_an_answer(parse: Callable[[str], Said], text: str, values: dict[str, Any]) -> None:
    assert parse(text).values == values


def test_the_line_is_kept() -> None:
    assert port.parse_gateway("x\ndefault gateway:192.0.2.1, Iface:eth0\n").lines == {
        "address": "default gateway:192.0.2.1, Iface:eth0",
        "configured": "default gateway:192.0.2.1, Iface:eth0",
    }


LLDP = """\
Chassis ID TLV
\tMAC: 02:00:5e:00:53:01
Port ID TLV
\tIfname: 200GE1/2/7:1
System Name TLV
\tmade-up-leaf
System Description TLV
\tMade Up Platform
Management Address TLV
\tIPv4: 192.0.2.99
End of LLDPDU TLV
"""


def test_a_neighbour_is_its_port_and_its_name_and_no_address() -> None:
    said = port.parse_lldp(LLDP)
    assert said.values == {"port": "200GE1/2/7:1", "switch": "made-up-leaf"}
    assert "02:00" not in str(said)


SPEEDS = """\
+-----+------+------+---------+-----+-------+----------+
| NPU | UDie | Port | Speed   | Cap | Width | Status   |
+-----+------+------+---------+-----+-------+----------+
| 0   | 1    | 4    | 200 G   | X4  | X2    | normal   |
+-----+------+------+---------+-----+-------+----------+
"""
PORTS = """\
+---------+---------+---------------------+-----------+-------------+------------+
| UDie ID | Port ID | Speed Ability(Gbps) | Port Type | Link Status | Media Type |
+---------+---------+---------------------+-----------+-------------+------------+
| 0       | 4       | 400                 | UB        | UP          | Electrical |
| 0       | 5       | 400                 | UB        | DOWN        | Electrical |
+---------+---------+---------------------+-----------+-------------+------------+
| Interface Name | IP Address | Netmask |
+----------------+------------+---------+
| made0v0        | 192.0.2.9  | 24      |
+----------------+------------+---------+
"""


def test_tables_of_950() -> None:
    (speed,) = port.parse_speed(SPEEDS).values["ports"]
    assert speed == {"udie": "1", "port": "4", "cap": "X4", "width": "X2", "status": "normal", "gbps": 200.0}
    ports = port.parse_dev_info(PORTS)
    assert [(one["port"], one["status"], one["gbps"]) for one in ports.values["ports"]] == [
        ("4", "UP", 400.0),
        ("5", "DOWN", 400.0),
    ]
    assert "DOWN" in ports.lines["port 5"]
