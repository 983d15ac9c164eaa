"""HCCL's rank table as facts."""

from __future__ import annotations

import pytest

from probes.ascend.ranktable import of_host, parse_rank_table
from probes.recorded.texthost import TextHost

TABLE = """\
{ // made up
  "status": "completed", "version": "1.2", "server_count": 1, // a number where a text should be
  "server_list": [
    {"server_id": "http://n0", "host_ip": "192.0.2.100",
     "device": [{"device_id": "0", "device_ip": "192.0.2.10", "rank_id": "0", "super_device_id": "7"}]}
  ],
  "super_pod_list": [{"super_pod_id": "p", "server_list": [{"server_id": "http://n0"}]}]
}
"""


def test_a_table_with_comments() -> None:
    said = parse_rank_table(TABLE)
    device = {
        "device_id": "0", "device_ip": "192.0.2.10", "rank_id": "0", "super_device_id": "7",
        "backup_device_ip": None, "device_port": None,
    }  # fmt: skip
    assert said.values == {
        "status": "completed",
        "version": "1.2",
        "server_count": "1",
        "servers": [{"id": "http://n0", "host": "192.0.2.100", "devices": [device]}],
        "super_pods": [{"id": "p", "servers": ["http://n0"]}],
    }


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('{"server_list": [}', "line 1 is not JSON: Expecting value"),
        ("[1]", "there is no server_list in it"),
        ('{"server_list": 3}', "there is no server_list in it"),
        ("[" * 100_000, "it is nested too deep, or has numbers that are too long"),
    ],
)
def test_what_is_no_table(text: str, fault: str) -> None:
    assert parse_rank_table(text).values["fault"] == fault


@pytest.mark.parametrize("server", ["1", "[]", '{"device": 1}', '{"device": [1]}', '{"server_id": ["x"]}'])
def test_a_server_that_is_none_has_no_devices(server: str) -> None:
    servers = parse_rank_table(f'{{"server_list": [{server}]}}').values["servers"]
    assert all(one == {"id": None, "host": None, "devices": []} for one in servers)


def test_a_word_that_cannot_be_printed_is_replaced() -> None:
    (server,) = parse_rank_table('{"server_list": [{"server_id": "\\ud800"}]}').values["servers"]
    assert server["id"] == "?"


def test_the_file_that_the_environment_names() -> None:
    assert of_host(TextHost({"/t": TABLE}, {})) == {}
    found = of_host(TextHost({"/t": TABLE}, {}, {"RANK_TABLE_FILE": "/t"}))["rank_table"]
    assert (found.source, len(found.values["servers"])) == ("/t", 1)
    gone = of_host(TextHost({}, {}, {"RANK_TABLE_FILE": "/t"}))["rank_table"]
    assert gone.values == {"fault": "there is no such file, or it cannot be read"}
