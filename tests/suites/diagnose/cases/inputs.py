"""All cases, by who speaks in them."""

from __future__ import annotations

from tests.suites.diagnose.cases import (
    dump_inputs,
    framework_inputs,
    hccl_inputs,
    host_inputs,
    hostile_inputs,
    jax_inputs,
    launch_inputs,
    mindspore_inputs,
    mixed_inputs,
    nccl_inputs,
    other_inputs,
    process_inputs,
    report_inputs,
    torch_inputs,
)

CASES = (
    *nccl_inputs.CASES, *torch_inputs.CASES, *hccl_inputs.CASES, *dump_inputs.CASES, *hostile_inputs.CASES,
    *other_inputs.CASES, *framework_inputs.CASES, *launch_inputs.CASES, *process_inputs.CASES, *host_inputs.CASES,
    *mindspore_inputs.CASES, *report_inputs.CASES, *jax_inputs.CASES, *mixed_inputs.CASES,
)  # fmt: skip
