"""All that /etc/hccn.conf sets."""

from __future__ import annotations

from probes.ascend.config import of_host, parse_addresses, parse_settings


def test_settings_by_device_and_the_last_one_counts() -> None:
    said = parse_settings("address_0=192.0.2.1\r\nnetmask_0 = 255.255.255.0\naddress_0=192.0.2.2\nmtu_11=4200\n# x_1\n")
    assert said.values["devices"] == {
        "0": {"address": "192.0.2.2", "netmask": "255.255.255.0"},
        "11": {"mtu": "4200"},
    }
    assert said.lines["address_0"] == "address_0=192.0.2.2"


def test_names_with_underscores_keep_them() -> None:
    assert parse_settings("send_arp_status_3=1\n").values["devices"] == {"3": {"send_arp_status": "1"}}


def test_hardware_addresses_stay_in_the_file() -> None:
    assert not parse_settings("mac_0=02:00:5e:00:53:01\narp_0=-i eth0 -s 192.0.2.1 02:00:5e:00:53:01\n")


def test_no_file_has_no_settings() -> None:
    assert of_host(None) == {}


def test_a_byte_order_mark_hides_no_address() -> None:
    assert parse_addresses("\ufeffaddress_0=192.0.2.1\r\n") == {0: "192.0.2.1"}
