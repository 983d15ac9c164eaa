"""Made-up RDMA hosts in the formats of sysfs and of the fabric's tools."""

from __future__ import annotations

from collections.abc import Mapping

IB = "InfiniBand"
ROCE = "Ethernet"


def ibstat(name: str, *, state: str = "Active", physical: str = "LinkUp", rate: int = 200, **other: str) -> str:
    """A block of ibstat. `other`: kind, firmware, layer and the last digits of the card's GUID."""
    values = {"kind": "MT4123", "firmware": "20.99.1000", "layer": IB, "card": name[-1], **other}
    return (
        f"CA '{name}'\n\tCA type: {values['kind']}\n\tNumber of ports: 1\n\tFirmware version: {values['firmware']}\n"
        f"\tHardware version: 0\n\tNode GUID: 0x00000000000009{ord(name[-1]):02x}\n"
        f"\tSystem image GUID: 0x00000000000077{ord(values['card']):02x}\n\tPort 1:\n\t\tState: {state}\n"
        f"\t\tPhysical state: {physical}\n\t\tRate: {rate}\n\t\tBase lid: 71\n\t\tLMC: 0\n\t\tSM lid: 5\n"
        f"\t\tCapability mask: 0x00010000\n\t\tPort GUID: 0x0000000000000b{ord(name[-1]):02x}\n"
        f"\t\tLink layer: {values['layer']}\n"
    )


def sysfs(name: str, **files: str) -> dict[str, str]:
    """The files of a device with an active port. `files`: the name of a file below the port, or below the device when
    it begins with `device_`, with `__` for `/`; an empty text leaves the file out."""
    folder = f"/sys/class/infiniband/{name}"
    below_port = {
        "state": "4: ACTIVE", "phys_state": "5: LinkUp", "rate": "200 Gb/sec (4X HDR)", "link_layer": IB, "lid": "0x47",
        "sm_lid": "0x5",
    }  # fmt: skip
    of_device = {"fw_ver": "20.99.1000", "hca_type": "MT4123", "board_id": "XX_0000000999"}
    for key, text in files.items():
        among, kept = (of_device, key[7:]) if key.startswith("device_") else (below_port, key)
        among[kept.replace("__", "/")] = text
    found = {f"{folder}/{file}": text for file, text in of_device.items()}
    found |= {f"{folder}/ports/1/{file}": text for file, text in below_port.items()}
    return {path: text + "\n" for path, text in found.items() if text}


def devices(**blocks: Mapping[str, str]) -> dict[str, str]:
    """The files of several devices: name -> what is different about it."""
    return {path: text for name, files in blocks.items() for path, text in sysfs(name, **files).items()}


IBSTATUS = """\
Infiniband device 'mlx5_0' port 1 status:
\tdefault gid:\t fe80:0000:0000:0000:0000:0000:0000:0abc
\tbase lid:\t 0x47
\tsm lid:\t\t 0x5
\tstate:\t\t 4: ACTIVE
\tphys state:\t 5: LinkUp
\trate:\t\t 200 Gb/sec (4X HDR)
\tlink_layer:\t InfiniBand

"""

IBV_DEVINFO = """\
hca_id:\tmlx5_0
\ttransport:\t\t\tInfiniBand (0)
\tfw_ver:\t\t\t\t20.99.1000
\tnode_guid:\t\t\t0000:0000:0000:0abc
\tsys_image_guid:\t\t\t0000:0000:0000:0abd
\tvendor_id:\t\t\t0x02c9
\tvendor_part_id:\t\t\t4123
\thw_ver:\t\t\t\t0x0
\tboard_id:\t\t\tXX_0000000999
\tphys_port_cnt:\t\t\t1
\t\tport:\t1
\t\t\tstate:\t\t\tPORT_ACTIVE (4)
\t\t\tmax_mtu:\t\t4096 (5)
\t\t\tactive_mtu:\t\t1024 (3)
\t\t\tsm_lid:\t\t\t0
\t\t\tport_lid:\t\t65535
\t\t\tport_lmc:\t\t0x00
\t\t\tlink_layer:\t\tEthernet

"""

LINK = """\
link ibp9s0/1 subnet_prefix fe80:0000:0000:0000 lid 71 sm_lid 5 lmc 0 state ACTIVE physical_state LINK_UP netdev ibp9s0
link roce1/1 state DOWN physical_state POLLING
"""

OLD_LINK = "0/1: mlx5_0/1: state ACTIVE physical_state LINK_UP netdev ens1f0np0\n"

JSON_LINK = """\
[{"ifindex":0,"ifname":"mlx5_0","port":1,"subnet_prefix":"fe80:0000:0000:0000","lid":71,"sm_lid":5,"lmc":0,\
"state":"ACTIVE","physical_state":"LINK_UP","netdev":"ib0","netdev_index":4},{"ifindex":1,"ifname":"rxe0","port":1,\
"state":"ACTIVE","physical_state":"POLLING","netdev":"eth0","netdev_index":2}]
"""
