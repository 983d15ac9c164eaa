"""Rank tables of HCCL as host lists: names, order, devices, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suites.errors import UsageError
from suites.launch.lists.ranktable import Device, Server, read, write
from tests.suites.launch.lists.host_entries import refusal


def device(rank: int, **more: Any) -> dict[str, Any]:
    return {"device_id": str(rank % 2), "device_ip": f"192.168.1.{rank}", "rank_id": str(rank)} | more


def table(*servers: tuple[str, Sequence[Any]], **more: Any) -> str:
    listed = [{"server_id": name, "device": devices} for name, devices in servers]
    whole = {"version": "1.0", "server_count": str(len(servers)), "server_list": listed, "status": "completed"}
    return json.dumps(whole | more)


def test_hosts_come_by_their_lowest_rank() -> None:
    text = table(("10.0.0.9", [device(3), device(2)]), ("node_0", [device(1), device(0, device_port="16667")]))
    assert read(text, "f") == [
        Server("node_0", 2, (Device("1", "192.168.1.1", "1"), Device("0", "192.168.1.0", "0", "16667"))),
        Server("10.0.0.9", 2, (Device("1", "192.168.1.3", "3"), Device("0", "192.168.1.2", "2"))),
    ]


def test_a_table_may_have_comments_and_numbers_as_vendors_examples_do() -> None:
    text = '{ // a table\n"version": "1.0", // its version\n"server_list": [{"server_id": "a", // "x\n"device": ['
    text += '{"device_id": 0, "device_ip": "x//\\"y", "rank_id": 0}]}]}'
    assert read(text, "f") == [Server("a", 1, (Device("0", 'x//"y', "0"),))]


def test_where_a_table_has_addresses_of_hosts_they_are_the_names() -> None:
    servers = [{"server_id": f"s{rank}", "host_ip": f"172.16.0.{rank}", "device": [device(rank)]} for rank in (0, 1)]
    assert [server.name for server in read(table(server_list=servers, server_count="2"), "f")] == [
        "172.16.0.0", "172.16.0.1",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        table(("a", [device(0, super_device_id="0"), device(1)]), version="1.2", super_pod_list=[]),
        table(("a", [device(0), device(1)]), version=None),
        table(("a", [device(0), {"device_id": "1", "rank_id": "1"}])),
    ],
)
def test_devices_that_cannot_be_written_back_are_not_kept(text: str) -> None:
    assert read(text, "f") == [Server("a", 2)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{\n"version": \n}', "f:3: begins like a rank table, and is not JSON"),
        ('{"a": ' * 100_000, "f: begins like a rank table, and is none"),
        ('{"server_count": ' + "1" * 5000 + "}", "f: begins like a rank table, and is none"),
        ("{}", "f: server_list is missing, empty or no list: not a rank table of HCCL"),
        (table(), "f: server_list is missing, empty or no list"),
        (table(server_list=3), "f: server_list is missing, empty or no list"),
        (table(("a", [])), "f: server_list[0].device is missing, empty or no list"),
        (table(("a", []), server_list=["a"]), "f: server_list[0].device is missing"),
        (table(("a", [{}])), "f: server_list[0].device[0].rank_id is missing; not a rank table of HCCL"),
        (table(("a", ["x"])), "f: server_list[0].device[0].rank_id is missing"),
        (table(("a", [device(0, rank_id="x")])), "f: server_list[0].device[0].rank_id is 'x', which cannot be"),
        (table(("a", [device(0, rank_id=[0])])), "f: server_list[0].device[0].rank_id is '[0]', which cannot be"),
        (table(("a", [device(0, rank_id="1" * 10)])), "f: server_list[0].device[0].rank_id is '1111111111'"),
        (table(("a", [device(0, device_id=[0])])), "f: server_list[0].device[0].device_id is '[0]', which cannot be"),
        (table(("", [device(0)])), "f: server_list[0].server_id is '', which cannot be"),
        (table(("a", [device(0)]), ("b", [device(0)])), "f: rank_id 0 is given twice; 2 devices have the ranks 0 to 1"),
        (table(("a", [device(0)]), ("b", [device(2)])), "f: rank_id 1 is missing; 2 devices have the ranks 0 to 1"),
        (table(("a", [device(0)]), server_count="2"), "f: server_count is '2', and server_list has 1: one is wrong"),
        (table(("a", [device(0)]), status="initializing"), "f: the status is 'initializing'; wait until"),
    ],
    ids=lambda value: value[:30],
)
def test_what_is_wrong_is_said(text: str, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        read(text, "f")
    assert str(caught.value).startswith(words)


def test_what_is_written_is_all_strings_and_complete() -> None:
    devices = (Device("0", "192.168.1.8", "0"), Device("1", "192.168.1.9", "1", "16667"))
    assert json.loads(write([("node_0", devices)])) == {
        "version": "1.0",
        "server_count": "1",
        "server_list": [
            {
                "server_id": "node_0",
                "device": [
                    {"device_id": "0", "device_ip": "192.168.1.8", "rank_id": "0"},
                    {"device_id": "1", "device_ip": "192.168.1.9", "rank_id": "1", "device_port": "16667"},
                ],
            }
        ],
        "status": "completed",
    }


KEYS = st.sampled_from(["device", "device_id", "device_ip", "rank_id", "server_id", "host_ip", "status", "version"])
VALUES = st.recursive(
    st.none() | st.integers(-1, 2) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
)


@given(st.one_of(VALUES, st.lists(st.dictionaries(KEYS, VALUES))))
def test_any_json_is_a_table_or_a_usage_error(value: object) -> None:
    for whole in ({"server_list": value}, {"server_list": [{"server_id": "a", "device": value}]}):
        told = refusal(lambda whole=whole: read(json.dumps(whole), "f"))  # type: ignore[misc]
        assert told is None or told.startswith("f: ")
