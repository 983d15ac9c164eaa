"""When links came and went, as hccn_tool tells it."""

from __future__ import annotations

import pytest

from probes.ascend.hccn_link_stat import parse_link_stat
from probes.ascend.hccn_words import moment

LIST = """\
[{prefix} 5]current time        : Fri Mar  7 11:02:03 2025
[{prefix} 5]link up count       : 2
[{prefix} 5]link down count     : 1
[{prefix} 5]link change records :
[{prefix} 5]    Fri Mar  7 10:00:09 2025    LINK UP
[{prefix} 5]    Fri Mar  7 10:00:02 2025    LINK DOWN
[{prefix} 5]    Thu Mar  6 09:00:00 2025    LINK UP
"""
TABLE = """\
link up count :    1
link down count :  1
+-----+------+------+-------------+-------------------------+
| NPU | UDie | Port | Link_Status | Time_Stamp              |
+-----+------+------+-------------+-------------------------+
|  0  |  0   |  4   |  LINK_DOWN  | Sat Nov 1 01:02:04 2025 |
|  0  |  0   |  4   |  LINK_UP    | Sat Nov 1 01:02:03 2025 |
+-----+------+------+-------------+-------------------------+
"""


@pytest.mark.parametrize("prefix", ["devid", "device"])
def test_a_list_with_the_prefix_of_old_and_new_tools(prefix: str) -> None:
    said = parse_link_stat(LIST.format(prefix=prefix))
    assert said.values == {"last": "UP"}
    assert said.counters == {"link_up_count": 2, "link_down_count": 1}
    assert said.momentary == {
        "now": "2025-03-07T11:02:03",
        "changes": [
            {"time": "2025-03-07T10:00:09", "state": "UP"},
            {"time": "2025-03-07T10:00:02", "state": "DOWN"},
            {"time": "2025-03-06T09:00:00", "state": "UP"},
        ],
    }
    assert said.lines["last"] == "Fri Mar  7 10:00:09 2025    LINK UP"


def test_a_table() -> None:
    said = parse_link_stat(TABLE)
    assert said.values == {"last": "DOWN"}
    assert [change["time"] for change in said.momentary["changes"]] == ["2025-11-01T01:02:04", "2025-11-01T01:02:03"]
    assert said.counters == {"link_up_count": 1, "link_down_count": 1}


def test_a_link_that_never_changed() -> None:
    assert parse_link_stat("[devid 0]link change records : NA\n").momentary == {"changes": []}


@pytest.mark.parametrize("text", ["Fri Mar 32 11:02:03 2025", "Fri Xyz  7 11:02:03 2025", "7.3.2025", ""])
def test_what_is_no_time(text: str) -> None:
    assert moment(text) is None
