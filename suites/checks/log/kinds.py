"""Kinds of events in logs of which each one says all there is to judge: a table. May import: report."""

from __future__ import annotations

from dataclasses import dataclass

from suites.report import Status


@dataclass(frozen=True, slots=True)
class Kind:
    """`name` is the event's; `what` begins the finding's sentence; fewer than `least` are not worth a word."""

    name: str
    what: str
    status: Status
    summary: str
    why: str
    remedy: str
    least: int | None = None
    source: str = ""


_POWER_CYCLE = (
    "take the host out of service and power-cycle it; if it comes again, have the card and its slot looked at"
)
_MEMORY = (
    "find the module by `edac-util -v`, `ras-mc-ctl --errors` or the board's management controller, and replace it"
)

KINDS = (
    Kind(
        "gpu_lost", "the driver has lost a GPU: fallen off the bus", Status.FAIL,
        "no GPU has fallen off the bus",
        "A GPU that no longer answers over PCIe is gone until the host is booted again, and every collective with it.",
        _POWER_CYCLE,
    ),
    Kind(
        "gpu_init_failed", "the driver could not start a GPU", Status.FAIL,
        "the driver could start every GPU",
        "A GPU that the driver cannot start is missing from every job, or lets it fail when it is opened.",
        f"reinstall the driver if it or the kernel was changed; else {_POWER_CYCLE}",
    ),
    Kind(
        "driver_mismatch", "NVIDIA's kernel module and libraries have different versions", Status.FAIL,
        "NVIDIA's kernel module and libraries are of one version",
        "After an upgrade the old module stays until it is unloaded or the host is booted, and so long nothing works.",
        "reboot, or `rmmod nvidia_uvm nvidia_drm nvidia_modeset nvidia` and `modprobe nvidia` when nothing uses a GPU",
    ),
    Kind(
        "pcie_power_insufficient", "a card says that its slot may give it too little power", Status.INFO,
        "no card has said that its slot gives too little power",
        "Mellanox cards say so on many machines that run well, where the board does not announce its power.",
        "nothing, while the card works; if its ports go down see to auxiliary power and the slot's power limit",
    ),
    Kind(
        "module_error", "a network card has reported an error of the module or cable", Status.FAIL,
        "no network card has reported an error of a module or cable",
        "The card shuts the port down when its module overheats or cannot be read, and the link is lost under load.",
        "reseat or replace the module or cable, and see to its cooling: `ethtool -m INTERFACE`, `mlxlink -d DEVICE -m`",
    ),
    Kind(
        "temperature", "a network card has reported a high temperature", Status.WARN,
        "no network card has reported a high temperature",
        "A card that is too hot lowers its speed or shuts its ports.",
        "see to the air flow: fans, filters, neighbours in the rack; `mget_temp -d DEVICE`, `sensors`",
    ),
    Kind(
        "transmit_timeout", "a network card did not send what it was given (transmit timeout)", Status.WARN,
        "no network card has stopped sending",
        "The driver resets the queue or the whole card then, and connections stall or break.",
        "update driver and firmware of the card; see whether the port was paused by the switch (PFC storm): "
        "`ethtool -S INTERFACE | grep -i pause`",
    ),
    Kind(
        "nic_health", "the firmware of a network card failed", Status.FAIL,
        "the firmware of every network card is well",
        "The driver takes such a card away or resets it, and all its connections with it.",
        "update the card's firmware and reset it: `mlxfwreset -d DEVICE reset`; replace it if it comes again",
    ),
    Kind(
        "nic_command_timeout", "the firmware of a network card did not answer", Status.WARN,
        "the firmware of every network card answers its driver",
        "Memory regions and queue pairs are made by such commands: RDMA cannot be set up while they time out.",
        "see what came before it in `dmesg`; update the card's firmware, or reset it: `mlxfwreset -d DEVICE reset`",
    ),
    Kind(
        "npu_abnormal", "the driver of Ascend finds a device abnormal", Status.FAIL,
        "the driver of Ascend finds no device abnormal",
        "It can no longer talk to the NPU, which is then missing or hangs in every collective.",
        "`npu-smi info -t health -i CARD`; collect logs by msnpureport, then reset the NPU or power-cycle the host",
    ),
    Kind(
        "npu_heartbeat_lost", "the driver of Ascend has lost the heartbeat of a device", Status.FAIL,
        "the driver of Ascend hears the heartbeat of every device",
        "The NPU's own system has stopped; it is missing until it is reset.",
        "`npu-smi info -t health -i CARD`; collect logs by msnpureport, then reset the NPU or power-cycle the host",
    ),
    Kind(
        "gpu_reset", "the driver had to reset a GPU", Status.WARN,
        "the driver had to reset no GPU",
        "Whatever ran on it is lost, and memory of peers may have been too.",
        "see in `dmesg` what came before it; look at `amd-smi metric --ecc` and `amd-smi bad-pages`",
    ),
    Kind(
        "gpu_reset_failed", "the driver could not bring a GPU back by a reset", Status.FAIL,
        "every GPU came back after a reset",
        "The GPU stays hung, and every job that opens it fails or waits.",
        _POWER_CYCLE,
    ),
    Kind(
        "gpu_memory_uncorrected", "a GPU has had memory errors that could not be corrected", Status.FAIL,
        "no GPU has had memory errors that could not be corrected",
        "Data may be wrong, and the driver retires the pages at the next reset.",
        "reset the GPU or reboot; `amd-smi bad-pages`, and have the card replaced if it comes again",
    ),
    Kind(
        "gpu_ring_timeout", "work on a GPU did not end", Status.WARN,
        "no work on a GPU has timed out",
        "The driver resets the GPU then; the cause may be the program or the GPU.",
        "see whether it follows the program or stays with the GPU",
    ),
    Kind(
        "pcie_link_down", "a PCIe slot has lost its card", Status.FAIL,
        "no PCIe slot has lost its card",
        "The device below is gone from one moment to the next, and the driver fails in what it was doing.",
        _POWER_CYCLE,
    ),
    Kind(
        "pcie_contained", "a PCIe port has cut off the device below after an error", Status.FAIL,
        "no PCIe port has cut off a device after an error",
        "Downstream Port Containment takes the link down so that an error does not spread.",
        _POWER_CYCLE,
    ),
    Kind(
        "pcie_error_fatal", "a fatal PCIe error", Status.FAIL,
        "there were no fatal PCIe errors",
        "The link has to be reset after it, and what was on its way is lost.",
        _POWER_CYCLE,
    ),
    Kind(
        "pcie_error_nonfatal", "a PCIe error that was not corrected", Status.WARN,
        "there were no uncorrected PCIe errors",
        "A transaction was lost: a driver may have retried it, or have failed.",
        "see which device and what type it is in `dmesg`; reseat the card, update its firmware",
    ),
    Kind(
        "pcie_error_corrected", "many corrected PCIe errors", Status.WARN,
        "there are not many corrected PCIe errors",
        "Each is a retry and costs time; working machines have some, a bad riser or connector brings them in masses.",
        "reseat the card, its riser and cables; `setpci` and kernel options that hide them do not help",
        100, "our own: some are normal, as on H100 hosts that work",
    ),
    Kind(
        "out_of_memory", "the kernel has killed a process for want of memory", Status.WARN,
        "the kernel has killed no process for want of memory",
        "A killed rank leaves all others waiting until their timeout, and they tell of a network fault.",
        "give the job more memory or fewer ranks and data loaders a host; look at the control group's memory.max",
    ),
    Kind(
        "hung_task", "a task hung in the kernel", Status.WARN,
        "no task has hung in the kernel",
        "Most often it waits for a file system over the network or for a driver that has wedged.",
        "see its stack in `dmesg`: if it names a driver of GPUs, NPUs or network reboot, else see to the storage",
    ),
    Kind(
        "lockup", "a CPU was stuck in the kernel", Status.WARN,
        "no CPU has been stuck in the kernel",
        "For many seconds nothing else ran on that CPU: ranks and interrupts there had to wait.",
        "see its stack in `dmesg`; in a virtual machine the host may be overcommitted",
    ),
    Kind(
        "memory_error_uncorrected", "memory errors that could not be corrected", Status.FAIL,
        "the host's memory has had no uncorrected errors",
        "Data was lost; the kernel has killed a process or will stop.",
        _MEMORY,
    ),
    Kind(
        "memory_error_corrected", "many corrected memory errors", Status.WARN,
        "there are not many corrected memory errors",
        "Correction costs time, and a module that has many of them will soon have others.",
        _MEMORY,
        100, "our own: far above the few that memory in use has",
    ),
    Kind(
        "hardware_error_fatal", "the hardware has reported an error that was not corrected", Status.FAIL,
        "the hardware has reported no uncorrected error",
        "Processor, memory or a PCIe device failed.",
        "decode it by `rasdaemon`'s `ras-mc-ctl --errors` or mcelog, and see the board's management controller",
    ),
    Kind(
        "hardware_error_corrected", "the hardware has reported corrected errors", Status.INFO,
        "the hardware has reported no corrected errors",
        "A few are normal; many from one part say that it is failing.",
        "`ras-mc-ctl --errors` says from which part they come; watch whether they become more",
    ),
    Kind(
        "cpu_throttled", "a CPU was slowed down because it was too hot", Status.WARN,
        "no CPU was slowed down by heat",
        "The ranks on it are slower than all others, and those wait.",
        "see to fans, filters and heat sinks, and to the power profile in the firmware's setup",
    ),
)  # fmt: skip
