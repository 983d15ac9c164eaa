"""The topology for Graphviz."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from opsdist_cli.output.topo import draw
from tests.opsdist_cli.output.topo.records import MACHINES, healthy, hostile, record_of, sick

STRING = r'"(?:[^"\\\n]|\\.)*"'
STATEMENT = re.compile(rf"(?:graph topology|subgraph (?:{STRING}|cluster_\d+)) \{{|\}}|rankdir=TB; .*|"
                       rf"label={STRING};(?: style=rounded;)?|"
                       rf"{STRING}(?: -- {STRING})?(?: \[(?:\w+=(?:{STRING}|\w+)(?:, )?)+\])?;")  # fmt: skip


@pytest.mark.parametrize("machine", MACHINES)
def test_every_line_is_a_statement_with_quoted_names(machine: str) -> None:
    for line in draw("dot", record_of(h=MACHINES[machine]())).splitlines():
        assert STATEMENT.fullmatch(line.strip()), line


@pytest.mark.parametrize("machine", MACHINES)
def test_graphviz_takes_it(machine: str) -> None:
    if shutil.which("dot") is None:
        pytest.skip("Graphviz is not installed")
    record = record_of(a=MACHINES[machine](), b=MACHINES["sick"]())
    done = subprocess.run(["dot", "-Tcanon"], input=draw("dot", record), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_fabric_is_a_node_and_not_all_of_its_links() -> None:
    text = draw("dot", record_of(h=healthy()))
    assert text.count('"0/fabric 0" -- ') == 8
    assert '"0/npu0" -- "0/npu1"' not in text
    assert '"0/npu3" -- "0/mlx5_3" [label="PIX", style="dashed"];' in text


def test_what_is_weak_has_a_node_in_red() -> None:
    lines = [line.strip() for line in draw("dot", record_of(h=sick())).splitlines() if '"0/weak 0"' in line]
    assert lines[0].startswith('"0/weak 0" [label="npu5: SYS!\\nHCCS is usual", shape=ellipse, color=red')
    assert lines[1] == '"0/weak 0" -- "0/npu5" [color="red", penwidth="2"];'
    assert len(lines) == 2 + 7


def test_quotes_and_backslashes_are_escaped() -> None:
    text = draw("dot", record_of(h=hostile()))
    assert r"\"];\\n<b>&\\x1b[31m" in text
