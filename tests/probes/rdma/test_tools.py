"""What ibstat, ibstatus, ibv_devinfo, rdma and ofed_info print, and what is understood of it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes.rdma import tools
from probes.reading import Said
from tests.probes.rdma import samples

PANIC = "ibpanic: [77] main: stat of IB device 'mlx5_3' failed: No such file or directory\n"


def told(said: Said, place: str) -> dict[str, object]:
    """The values of a place, without the sign that it is there."""
    found = {key.rpartition(" ")[::2]: value for key, value in said.values.items()}
    return {name: value for (where, name), value in found.items() if where == place and name != "."}


def test_ibstat_tells_devices_and_ports() -> None:
    said = tools.parse_ibstat(samples.ibstat("mlx5_0") + samples.ibstat("mlx5_10", state="Down", physical="Polling"))
    assert told(said, "mlx5_0") == {"kind": "MT4123", "firmware": "20.99.1000", "card": "mlx5_0"}
    assert told(said, "mlx5_0/1") == {
        "state": "ACTIVE", "physical_state": "LinkUp", "rate_text": "200", "lid": 71, "sm_lid": 5,
        "link_layer": "InfiniBand",
    }  # fmt: skip
    assert told(said, "mlx5_10/1")["state"] == "DOWN"
    assert said.lines["mlx5_10/1 physical_state"] == "Physical state: Polling"


def test_functions_of_one_card_are_told_by_its_guid_which_is_not_kept() -> None:
    said = tools.parse_ibstat(samples.ibstat("mlx5_1", card="x") + samples.ibstat("mlx5_2", card="x"))
    assert (said.values["mlx5_1 card"], said.values["mlx5_2 card"]) == ("mlx5_1", "mlx5_1")
    assert "0x0000" not in str(said.values) + str(said.lines)


def test_ibstat_that_breaks_off_keeps_what_it_told_and_names_what_went_away() -> None:
    said = tools.parse_ibstat(samples.ibstat("mlx5_0") + PANIC)
    assert (said.values["vanished"], said.lines["vanished"]) == ("mlx5_3", PANIC.strip())
    assert told(said, "mlx5_0/1")["state"] == "ACTIVE"


def test_a_refusal_is_no_device_that_went_away() -> None:
    assert not tools.parse_ibstat(PANIC.replace("No such file or directory", "Permission denied"))


def test_ibstatus() -> None:
    assert told(tools.parse_ibstatus(samples.IBSTATUS), "mlx5_0/1") == {
        "state": "ACTIVE", "physical_state": "LinkUp", "rate_text": "200 Gb/sec (4X HDR)", "lid": 71, "sm_lid": 5,
        "link_layer": "InfiniBand",
    }  # fmt: skip


def test_ibv_devinfo() -> None:
    said = tools.parse_ibv_devinfo(samples.IBV_DEVINFO)
    assert told(said, "mlx5_0") == {
        "kind": "MT4123", "firmware": "20.99.1000", "board": "XX_0000000999", "card": "mlx5_0",
    }  # fmt: skip
    assert told(said, "mlx5_0/1") == {"state": "ACTIVE", "active_mtu": 1024, "link_layer": "Ethernet"}


def test_no_devices_is_an_answer() -> None:
    assert tools.parse_ibv_devinfo("No IB devices found\n").values == {"none": True}


def test_rdma_link_as_text() -> None:
    said = tools.parse_link(samples.LINK)
    assert told(said, "ibp9s0/1") == {
        "state": "ACTIVE", "physical_state": "LinkUp", "lid": 71, "sm_lid": 5, "netdev": "ibp9s0",
        "link_layer": "InfiniBand",
    }  # fmt: skip
    assert told(said, "roce1/1") == {"state": "DOWN", "physical_state": "Polling"}
    assert told(tools.parse_link(samples.OLD_LINK), "mlx5_0/1")["netdev"] == "ens1f0np0"


def test_rdma_link_as_json() -> None:
    said = tools.parse_link("\ufeff" + samples.JSON_LINK)
    assert told(said, "mlx5_0/1")["lid"] == 71
    assert told(said, "rxe0/1") == {"state": "ACTIVE", "physical_state": "Polling", "netdev": "eth0"}
    assert "state ACTIVE" in said.lines["rxe0/1 state"]


@pytest.mark.parametrize(
    ("text", "version"),
    [("MLNX_OFED_LINUX-99.1-0.1.2.3:\n", "MLNX_OFED_LINUX-99.1-0.1.2.3"), ("OFED-internal-9.9:", "OFED-internal-9.9")],
)
def test_the_version_of_the_driver_stack(text: str, version: str) -> None:
    assert tools.parse_ofed(text).values == {"version": version}


PARSERS: list[tuple[Callable[[str], Said], str]] = [
    (tools.parse_ibstat, samples.ibstat("mlx5_0") + PANIC),
    (tools.parse_ibstatus, samples.IBSTATUS),
    (tools.parse_ibv_devinfo, samples.IBV_DEVINFO),
    (tools.parse_link, samples.LINK),
    (tools.parse_link, samples.JSON_LINK),
    (tools.parse_ofed, "MLNX_OFED_LINUX-1:\n"),
]


@pytest.mark.parametrize(("parse", "sample"), PARSERS)
def test_line_ends_and_escapes_make_no_difference(parse: Callable[[str], Said], sample: str) -> None:
    assert parse("\ufeff" + sample.replace("\n", "\r\n")).values == parse(sample).values
    assert parse("\x1b[4m" + sample + "\x1b[0m").values == parse(sample).values


@pytest.mark.parametrize(("parse", "sample"), PARSERS)
@given(data=st.data())
def test_no_text_raises(parse: Callable[[str], Said], sample: str, data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(sample)))
    parse(sample[:cut])
    parse(sample[cut:] + data.draw(st.text(max_size=20)) + sample[:cut])
    assert isinstance(parse(data.draw(st.text())), Said)


def test_a_text_that_is_something_else_tells_nothing() -> None:
    assert not any(parse("command not found\n: :\n[1, 2]\n") for parse, _ in PARSERS)
