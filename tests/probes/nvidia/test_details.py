"""What is understood of `nvidia-smi -q`, as text and as XML."""

from __future__ import annotations

import pytest

from probes.nvidia.details import parse
from tests.probes.nvidia.samples import XML, details, fabric, gpu_details

GPU = "0000:19:00.0"
AMPERE = """\
    GPU Reset Status
        Reset Required                    : Yes
        Drain and Reset Recommended       : No
    PCI
        Bus Id                            : 00000000:19:00.0
        GPU Link Info
            PCIe Generation
                Max                       : 5
                Current                   : 4
                Device Max                : 6
            Link Width
                Max                       : 16x
                Current                   : 8x
        Replays Since Reset               : 67
    Clocks Throttle Reasons
        Idle                              : Not Active
        HW Slowdown                       : Active
            HW Thermal Slowdown           : Not Active
            HW Power Brake Slowdown       : Active
    FB Memory Usage
        Total                             : 81559 MiB
        Used                              : 5 MiB
    BAR1 Memory Usage
        Total                             : 131072 MiB
    Utilization
        Gpu                               : 7 %
        Memory                            : 8 %
    ECC Mode
        Current                           : Enabled
        Pending                           : Disabled
    ECC Errors
        Volatile
            SRAM Correctable              : 9
            SRAM Uncorrectable Parity     : 0
            SRAM Uncorrectable SEC-DED    : 2
            DRAM Correctable              : 1
            DRAM Uncorrectable            : 3
        Aggregate
            SRAM Uncorrectable Parity     : 4
            DRAM Uncorrectable            : 7
            SRAM Threshold Exceeded       : Yes
    Remapped Rows
        Correctable Error                 : 1
        Uncorrectable Error               : 6
        Pending                           : Yes
        Remapping Failure Occurred        : No
        Bank Remap Availability Histogram
            Max                           : 2560 bank(s)
    Temperature
        GPU Current Temp                  : 61 C
        GPU Slowdown Temp                 : N/A
"""
VOLTA = """\
    ECC Errors
        Volatile
            Single Bit
                Device Memory             : 5
                Total                     : 5
            Double Bit
                Device Memory             : 1
                Total                     : 1
        Aggregate
            Double Bit
                Total                     : 2
    Retired Pages
        Single Bit ECC                    : 11
        Double Bit ECC                    : 12
        Pending Page Blacklist            : Yes
    Remapped Rows                         : N/A
"""


def test_sections_of_a_newer_gpu() -> None:
    said = parse(details(gpu_details(sections=AMPERE + fabric("In Progress", "N/A"))))
    assert said.values == {
        "driver": "999.10.01", "cuda": "19.9", "attached": 1,
        f"{GPU}/bus": GPU, f"{GPU}/name": "NVIDIA Q100 80GB HBM3", f"{GPU}/persistence": True, f"{GPU}/mig": False,
        f"{GPU}/vbios": "99.00.01.00.02", f"{GPU}/needs_reset": True, f"{GPU}/reset_recommended": False,
        f"{GPU}/pcie_generation_max": 5, f"{GPU}/pcie_width_max": 16, f"{GPU}/pcie_width": 8,
        f"{GPU}/memory_mib": 81559, f"{GPU}/ecc": True, f"{GPU}/ecc_pending": False,
        f"{GPU}/sram_threshold_exceeded": True,
        f"{GPU}/remap_pending": True, f"{GPU}/remap_failed": False, f"{GPU}/fabric_state": "In Progress",
    }  # fmt: skip
    assert said.counters == {
        f"{GPU}/pcie_replays": 67, f"{GPU}/ecc_corrected": 10, f"{GPU}/ecc_uncorrected": 5,
        f"{GPU}/ecc_uncorrected_ever": 11, f"{GPU}/remapped_correctable": 1, f"{GPU}/remapped_uncorrectable": 6,
    }  # fmt: skip
    assert said.momentary == {
        f"{GPU}/pcie_generation": 4, f"{GPU}/memory_used_mib": 5, f"{GPU}/utilization": 7, f"{GPU}/temperature": 61,
        f"{GPU}/clock_reasons": ["hardware_slowdown", "hardware_power_brake"],
    }  # fmt: skip
    assert said.lines[f"{GPU}/ecc_uncorrected"] == "SRAM Uncorrectable SEC-DED    : 2"
    assert said.lines[f"{GPU}/clock_reasons"] == "HW Power Brake Slowdown       : Active"


def test_sections_of_an_older_gpu() -> None:
    said = parse(details(gpu_details(sections=VOLTA)))
    assert said.counters == {
        f"{GPU}/ecc_corrected": 5, f"{GPU}/ecc_uncorrected": 1, f"{GPU}/ecc_uncorrected_ever": 2,
        f"{GPU}/retired_single": 11, f"{GPU}/retired_double": 12,
    }  # fmt: skip
    assert said.values[f"{GPU}/retired_pending"] is True


def test_a_choice_of_sections_is_complete_without_the_others() -> None:
    text = details(
        "GPU 00000001:00:00.0\n    Retired Pages\n        Double Bit ECC                    : 3\n", attached=8
    )
    said = parse(text)
    assert said.counters == {"0001:00:00.0/retired_double": 3}
    assert "0001:00:00.0/breaks_off" not in said.values


def test_where_it_breaks_off_what_was_read_counts() -> None:
    text = details(gpu_details(sections=AMPERE))
    said = parse(text[: text.index("    Remapped Rows")])
    assert said.counters[f"{GPU}/ecc_uncorrected_ever"] == 11
    assert said.values[f"{GPU}/breaks_off"] == "after 'sram threshold exceeded'"
    assert f"{GPU}/breaks_off" not in said.lines


def test_a_value_that_may_have_been_cut_is_none() -> None:
    text = details(gpu_details(sections=AMPERE))
    cut = parse(text[: text.index("8x\n        Replays")] + "1")
    assert f"{GPU}/pcie_width" not in cut.values
    assert cut.values[f"{GPU}/pcie_width_max"] == 16


def test_a_key_that_the_tool_calls_invalid_is_no_slowdown() -> None:
    odd = "    Clocks Event Reasons\n        Idle   : Active\n        Invalid HW Slowdown   : Active\n"
    said = parse(details(gpu_details(sections=odd)))
    assert said.momentary[f"{GPU}/clock_reasons"] == ["idle"]
    assert said.values[f"{GPU}/odd"] == "invalid hw slowdown"


def test_without_its_beginning_it_is_still_of_a_gpu() -> None:
    said = parse("    ECC Mode\n        Current                           : Disabled\n")
    assert said.values == {"/ecc": False}


def test_parts_of_a_divided_gpu_are_not_the_gpu() -> None:
    part = "    MIG Device\n        FB Memory Usage\n            Total   : 9984 MiB\n"
    part += "    FB Memory Usage\n        Total : 40960 MiB\n"
    assert parse(details(gpu_details(sections=part))).values[f"{GPU}/memory_mib"] == 40960


def test_identities_stay_behind() -> None:
    for text in (details(gpu_details(sections=AMPERE)), XML):
        said = parse(text)
        shown = [
            str(value) for kind in (said.values, said.counters, said.momentary, said.lines) for value in kind.values()
        ]
        assert not [one for one in shown if "4711" in one]


def test_xml_tells_the_same() -> None:
    said = parse(XML)
    assert said.values == {
        "driver": "999.10.01", "cuda": "19.9", "attached": 1,
        f"{GPU}/bus": GPU, f"{GPU}/name": "NVIDIA Q100 80GB HBM3", f"{GPU}/persistence": True, f"{GPU}/mig": False,
        f"{GPU}/pcie_generation_max": 5, f"{GPU}/pcie_width_max": 16, f"{GPU}/pcie_width": 8, f"{GPU}/ecc": True,
        f"{GPU}/retired_pending": True, f"{GPU}/remap_pending": True, f"{GPU}/remap_failed": False,
        f"{GPU}/fabric_state": "Completed", f"{GPU}/fabric_status": "Success",
    }  # fmt: skip
    assert said.counters == {
        f"{GPU}/pcie_replays": 3, f"{GPU}/ecc_corrected": 1, f"{GPU}/ecc_uncorrected": 2, f"{GPU}/retired_single": 7,
        f"{GPU}/retired_double": 8, f"{GPU}/remapped_uncorrectable": 4,
    }  # fmt: skip
    assert said.momentary[f"{GPU}/clock_reasons"] == ["hardware_slowdown", "hardware_thermal"]
    assert said.lines[f"{GPU}/pcie_width"] == "<current_link_width>8x</current_link_width>"


def test_xml_that_breaks_off() -> None:
    said = parse(XML[: XML.index("<ecc_errors>")])
    assert said.values[f"{GPU}/ecc"] is True
    assert f"{GPU}/breaks_off" in said.values


@pytest.mark.parametrize("bomb", [
    '<!DOCTYPE nvidia_smi_log [<!ENTITY a "b">]>', '<!DOCTYPE nvidia_smi_log SYSTEM "x" [\n<!ENTITY a "b">\n]>',
])  # fmt: skip
def test_xml_with_entities_is_not_read(bomb: str) -> None:
    assert not parse(XML.replace('<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">', bomb))
