"""Rules by which NPUs are of one kind, from what npu-smi prints to the finding."""

from __future__ import annotations

from typing import Any

from suites.report import Status
from tests.probes.ascend.npu_samples import COLUMNS, details, eight, mapping, rows, table
from tests.suites.checks.ruled import fleet, statuses
from tests.suites.checks.told import facts_of

MODEL = "ascend.model_differs"


def of_model(*names: str) -> dict[str, Any]:
    return facts_of({"npu-smi info": table(rows(card, name=name) for card, name in enumerate(names))})


def firmware(*versions: str) -> dict[str, Any]:
    return facts_of({
        f"npu-smi info -t board -i {card}": details(Firmware_Version=version) for card, version in enumerate(versions)
    })  # fmt: skip


def test_a_host_with_another_model_is_named() -> None:
    usual = of_model("910B3", "910B3")
    (finding,) = fleet(MODEL, a=usual, b=of_model("910B4", "910B4"), c=usual)
    assert (finding.status, finding.subject) == (Status.WARN, {"host": "b"})
    assert "910B4" in finding.message


def test_a_host_with_two_models_is_named() -> None:
    (finding,) = fleet(MODEL, a=of_model("910B3"), b=of_model("910B3", "910B4"), c=of_model("910B3"))
    assert finding.subject == {"host": "b"}


def test_a_device_of_another_model_in_a_host_that_is_alone() -> None:
    (finding,) = fleet(MODEL, a=facts_of({"npu-smi info": eight(npu2=rows(2, name="910B4"))}))
    assert finding.subject == {"host": "a", "device": "npu2"}


def test_one_model_under_two_names_passes() -> None:
    mapped = facts_of({"npu-smi info -m": mapping(COLUMNS, ("0", "0", "0", "Ascend 910B3"))})
    assert statuses(fleet(MODEL, a=of_model("910B3"), b=mapped)) == [Status.PASS]


def test_firmware_of_one_card_that_was_left_out() -> None:
    (finding,) = fleet("ascend.board_firmware_differs", a=firmware("9.1", "9.1", "9.0"))
    assert (finding.status, finding.subject) == (Status.WARN, {"host": "a", "device": "npu2"})
    assert finding.evidence["line"].startswith("Firmware Version")
    assert statuses(fleet("ascend.board_firmware_differs", a=firmware("9.1"), b=firmware("9.1"))) == [Status.PASS]


def test_a_driver_of_another_version() -> None:
    usual, other = eight(), eight().replace("Version: 99.1.rc1", "Version: 99.0")
    hosts = {name: facts_of({"npu-smi info": text}) for name, text in {"a": usual, "b": usual, "c": other}.items()}
    (finding,) = fleet("ascend.driver_version_differs", **hosts)
    assert (finding.status, finding.subject) == (Status.WARN, {"host": "c"})


def test_hosts_without_npus_are_not_compared() -> None:
    hosts = {"a": of_model("910B3"), "b": of_model("910B3"), "c": facts_of()}
    for rule in (MODEL, "ascend.driver_version_differs"):
        assert statuses(fleet(rule, **hosts)) == [Status.PASS]


def test_an_npu_of_no_known_model_is_not_compared() -> None:
    facts = facts_of({
        "npu-smi info": table(rows(card) for card in range(2)),
        "npu-smi info -t health -i 2 -c 0": details(Health="OK"),
    })  # fmt: skip
    assert statuses(fleet(MODEL, a=facts)) == [Status.PASS]


def test_firmware_that_only_chips_tell() -> None:
    def told(version: str) -> dict[str, Any]:
        return facts_of({"npu-smi info -t board -i 0 -c 0": details(Firmware_Version=version)})

    assert statuses(fleet("ascend.board_firmware_differs", a=told("9.1"), b=told("9.0"))) == [Status.WARN]


def test_an_npu_smi_that_tells_no_version_is_not_compared() -> None:
    untitled = facts_of({"npu-smi info": eight().replace("Version: 99.1.rc1", "")})
    hosts = {"a": facts_of({"npu-smi info": eight()}), "b": facts_of({"npu-smi info": eight()}), "c": untitled}
    assert statuses(fleet("ascend.driver_version_differs", **hosts)) == [Status.PASS]
