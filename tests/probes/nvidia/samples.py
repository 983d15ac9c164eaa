"""What NVIDIA's tools print, in their true forms, of made-up GPUs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def table(*gpus: str) -> str:
    """`nvidia-smi` of these GPUs, each as `gpu_rows` makes it."""
    return (
        "Mon Jan  1 10:00:00 2024\n"
        "+-----------------------------------------------------------------------------------------+\n"
        "| NVIDIA-SMI 999.10.01              Driver Version: 999.10.01      CUDA Version: 19.9     |\n"
        "|-----------------------------------------+------------------------+----------------------+\n"
        "| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |\n"
        "| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |\n"
        "|                                         |                        |               MIG M. |\n"
        "|=========================================+========================+======================|\n"
        + "+-----------------------------------------+------------------------+----------------------+\n".join(gpus)
        + "\n+-----------------------------------------------------------------------------------------+\n"
        "| Processes:                                                                              |\n"
        "|  GPU   GI   CI        PID   Type   Process name                              GPU Memory |\n"
        "|=========================================================================================|\n"
    )


def gpu_rows(
    index: int, *, name: str = "NVIDIA Q100 80GB HBM3", ecc: str = "0", mode: str = "Default", used: int = 1,
    persistence: str = "On", temperature: str = "27C",
) -> str:  # fmt: skip
    return (
        f"|   {index}  {name:<26} {persistence:>4}  |   00000000:{0x10 + index:02X}:00.0 Off | {ecc:>20} |\n"
        f"| N/A   {temperature}    P0             72W /  700W |    {used:>4}MiB /  81559MiB |      3%   {mode:>10} |\n"
        "|                                         |                        |             Disabled |\n"
    )


NO_PROCESSES = "|  No running processes found                                                             |\n"
PROCESS = "|    1   N/A  N/A      4711      C   /usr/bin/quux                                1024MiB |\n"


def topology(cells: Sequence[str], cards: Sequence[str] = (), names: Mapping[str, str] | None = None) -> str:
    """`nvidia-smi topo -m`: a row of cells for each GPU, of other GPUs and then of `cards`, as the tool prints them."""
    columns = [f"GPU{index}" for index in range(len(cells))] + list(cards)
    lines = ["\t\x1b[4m" + "\t".join(columns) + "\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m"]
    lines += [f"GPU{index}\t" + "\t".join(row.split()) + "\t0-31,64-95\t0\t\tN/A" for index, row in enumerate(cells)]
    lines += ["", "Legend:", "", "  X    = Self", "  NV#  = Connection traversing a bonded set of # NVLinks"]
    if names:
        lines += ["", "NIC Legend:", "", *(f"  {card}: {name}" for card, name in names.items())]
    return "\n".join(lines) + "\n"


def details(*gpus: str, attached: int | None = None) -> str:
    """`nvidia-smi -q` of these GPUs, each as `gpu_details` makes it."""
    return (
        "\n==============NVSMI LOG==============\n\n"
        "Timestamp                                 : Mon Jan  1 10:00:00 2024\n"
        "Driver Version                            : 999.10.01\n"
        "CUDA Version                              : 19.9\n\n"
        f"Attached GPUs                             : {len(gpus) if attached is None else attached}\n" + "\n".join(gpus)
    )


def gpu_details(bus: str = "00000000:19:00.0", sections: str = "", name: str = "NVIDIA Q100 80GB HBM3") -> str:
    return f"""\
GPU {bus}
    Product Name                          : {name}
    Persistence Mode                      : Enabled
    MIG Mode
        Current                           : Disabled
        Pending                           : Disabled
    Serial Number                         : 4711471147114
    GPU UUID                              : GPU-47114711-4711-4711-4711-471147114711
    VBIOS Version                         : 99.00.01.00.02
{sections}    Processes                             : None
"""


def fabric(state: str = "Completed", status: str = "Success") -> str:
    return f"""\
    Fabric
        State                             : {state}
        Status                            : {status}
"""


def nvlink(*gpus: tuple[int, str, Sequence[str]]) -> str:
    """`nvidia-smi nvlink -s` of (index, name, what is said of each link)."""
    text = ""
    for index, name, links in gpus:
        text += f"GPU {index}: {name} (UUID: GPU-47114711-4711-4711-4711-47114711471{index})\n"
        text += "".join(f"\t Link {link}: {said}\n" for link, said in enumerate(links))
    return text


ALL_INACTIVE = "NVML: Unable to retrieve NVLink information as all links are inActive\n"
MISMATCH = "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 999.11\n"
NO_DEVICES = "No devices were found\n"
UNREACHABLE = (
    "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest NVIDIA "
    "driver is installed and running.\n"
)
LOST = "Unable to determine the device handle for GPU0000:11:00.0: Unknown Error\n"

QUERY = "nvidia-smi --query-gpu=any --format=csv"


def csv(header: str, *rows: str) -> str:
    return "\n".join([header, *rows]) + "\n"


XML = """\
<?xml version="1.0" ?>
<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">
<nvidia_smi_log>
\t<driver_version>999.10.01</driver_version>
\t<cuda_version>19.9</cuda_version>
\t<attached_gpus>1</attached_gpus>
\t<gpu id="00000000:19:00.0">
\t\t<product_name>NVIDIA Q100 80GB HBM3</product_name>
\t\t<persistence_mode>Enabled</persistence_mode>
\t\t<mig_mode><current_mig>Disabled</current_mig><pending_mig>Enabled</pending_mig></mig_mode>
\t\t<serial>4711471147114</serial>
\t\t<pci>
\t\t\t<pci_gpu_link_info>
\t\t\t\t<pcie_gen><max_link_gen>5</max_link_gen><current_link_gen>1</current_link_gen></pcie_gen>
\t\t\t\t<link_widths><max_link_width>16x</max_link_width><current_link_width>8x</current_link_width></link_widths>
\t\t\t</pci_gpu_link_info>
\t\t\t<replay_counter>3</replay_counter>
\t\t</pci>
\t\t<clocks_event_reasons>
\t\t\t<clocks_event_reason_gpu_idle>Not Active</clocks_event_reason_gpu_idle>
\t\t\t<clocks_event_reason_hw_slowdown>Active</clocks_event_reason_hw_slowdown>
\t\t\t<clocks_event_reason_hw_thermal_slowdown>Active</clocks_event_reason_hw_thermal_slowdown>
\t\t</clocks_event_reasons>
\t\t<ecc_mode><current_ecc>Enabled</current_ecc></ecc_mode>
\t\t<ecc_errors>
\t\t\t<volatile>
\t\t\t\t<sram_correctable>1</sram_correctable>
\t\t\t\t<sram_uncorrectable_parity>0</sram_uncorrectable_parity>
\t\t\t\t<dram_uncorrectable>2</dram_uncorrectable>
\t\t\t</volatile>
\t\t</ecc_errors>
\t\t<retired_pages>
\t\t\t<multiple_single_bit_retirement><retired_count>7</retired_count></multiple_single_bit_retirement>
\t\t\t<double_bit_retirement><retired_count>8</retired_count></double_bit_retirement>
\t\t\t<pending_blacklist>Yes</pending_blacklist>
\t\t</retired_pages>
\t\t<remapped_rows>
\t\t\t<remapped_row_unc>4</remapped_row_unc>
\t\t\t<remapped_row_pending>Yes</remapped_row_pending>
\t\t\t<remapped_row_failure>No</remapped_row_failure>
\t\t</remapped_rows>
\t\t<temperature><gpu_temp>45 C</gpu_temp><memory_temp>N/A</memory_temp></temperature>
\t\t<fabric><state>Completed</state><status>Success</status></fabric>
\t\t<processes></processes>
\t</gpu>
</nvidia_smi_log>
"""
