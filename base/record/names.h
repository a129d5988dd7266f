// Names in the record that more than one part of the program relies on.
#pragma once

#include <string_view>

namespace chokepoint::record {

// Counters of the watched job's Ethernet frames, without FCS, beginning at 0 with the job; one
// series an interface.
constexpr std::string_view kJobSentBytes = "job.sent_bytes";
constexpr std::string_view kJobReceivedBytes = "job.received_bytes";

// Counter of the time that chokepoint itself spent on a CPU, from its start, in nanoseconds.
constexpr std::string_view kOwnCpu = "chokepoint.cpu_ns";

// Event: rows that did not reach the record; detail {"reason","rows","until_ns"}.
constexpr std::string_view kDropped = "dropped";

// Event: packets that the kernel or the interface lost before they were seen; the subject is the
// interface, detail {"kernel","interface"}.
constexpr std::string_view kPacketsDropped = "packets-dropped";

// What the host counted while the job ran; docs/run-counters.md tells each. Of an interface:
constexpr std::string_view kNicSentBytes = "nic.sent_bytes";
constexpr std::string_view kNicReceivedBytes = "nic.received_bytes";
constexpr std::string_view kNicSentPackets = "nic.sent_packets";
constexpr std::string_view kNicReceivedPackets = "nic.received_packets";
constexpr std::string_view kNicSendDrops = "nic.send_drops";
constexpr std::string_view kNicReceiveDrops = "nic.receive_drops";
constexpr std::string_view kNicSendErrors = "nic.send_errors";
constexpr std::string_view kNicReceiveErrors = "nic.receive_errors";
constexpr std::string_view kNicCarrierChanges = "nic.carrier_changes";
constexpr std::string_view kNicSpeed = "nic.speed_mbps";
// Drivers' own counters, behind it what `ethtool -S` calls them; and behind the other what they
// have in common, "received_pauses".
constexpr std::string_view kEthtoolPrefix = "ethtool.";
constexpr std::string_view kNicPrefix = "nic.";
// Of a core, "cpu3", or of "all":
constexpr std::string_view kCpuBusy = "cpu.busy_ns";
constexpr std::string_view kCpuSoftirq = "cpu.softirq_ns";
// Of threads of one name in one process, "4711/python3 (main)":
constexpr std::string_view kThreadCpu = "thread.cpu_ns";
constexpr std::string_view kThreadWait = "thread.wait_ns";
constexpr std::string_view kThreadBusiest = "thread.busiest_percent";
// Of a process of the job, "4711":
constexpr std::string_view kProcessCpu = "process.cpu_ns";
constexpr std::string_view kProcessMemory = "process.memory_bytes";
// Of chokepoint itself:
constexpr std::string_view kOwnMemory = "chokepoint.memory_bytes";
// Of "cpu", "memory", "io":
constexpr std::string_view kPressureSome = "pressure.some_ns";
constexpr std::string_view kPressureFull = "pressure.full_ns";
// Of a core or of "all":
constexpr std::string_view kSoftnetDropped = "softnet.dropped";
constexpr std::string_view kSoftnetSqueezed = "softnet.time_squeeze";
// Of an RDMA port, "mlx5_0/1"; behind the prefix stands "cnp_sent" or the driver's own name:
constexpr std::string_view kRdmaPrefix = "rdma.";
// Of a card's PCIe path, by the interface's name or the GPU's address:
constexpr std::string_view kPcieSpeed = "pcie.speed_gts";
constexpr std::string_view kPcieWidth = "pcie.width";
constexpr std::string_view kPcieCeiling = "pcie.ceiling_mbps";
constexpr std::string_view kPcieBusySpeed = "pcie.busy_speed_gts";  // while it was at work
constexpr std::string_view kPcieBusyWidth = "pcie.busy_width";
// Of a GPU, "0000:3b:00.0"; sent is from the GPU to the host:
constexpr std::string_view kGpuUtilization = "gpu.utilization_percent";
constexpr std::string_view kGpuMemoryBusy = "gpu.memory_busy_percent";
constexpr std::string_view kGpuMemory = "gpu.memory_bytes";
constexpr std::string_view kGpuClock = "gpu.clock_mhz";
constexpr std::string_view kGpuMaxClock = "gpu.max_clock_mhz";  // that it could run at
constexpr std::string_view kGpuMemoryClock = "gpu.memory_clock_mhz";
constexpr std::string_view kGpuMaxMemoryClock = "gpu.max_memory_clock_mhz";
constexpr std::string_view kGpuTemperature = "gpu.temperature_c";
constexpr std::string_view kGpuPower = "gpu.power_w";
constexpr std::string_view kGpuPowerLimit = "gpu.power_limit_w";
constexpr std::string_view kGpuThrottle = "gpu.throttle_reasons";  // base/host/gpu.h
constexpr std::string_view kGpuReplays = "gpu.pcie_replays";
constexpr std::string_view kGpuPcieSent = "gpu.pcie_sent_bytes_per_s";
constexpr std::string_view kGpuPcieReceived = "gpu.pcie_received_bytes_per_s";
constexpr std::string_view kGpuNvlinkSent = "gpu.nvlink_sent_bytes_per_s";
constexpr std::string_view kGpuNvlinkReceived = "gpu.nvlink_received_bytes_per_s";
// Of its own link as the driver tells it, seen while it was at work; and what GPU and slot can do:
constexpr std::string_view kGpuBusyGeneration = "gpu.busy_pcie_generation";
constexpr std::string_view kGpuBusyWidth = "gpu.busy_pcie_width";
constexpr std::string_view kGpuMaxGeneration = "gpu.max_pcie_generation";
constexpr std::string_view kGpuMaxWidth = "gpu.max_pcie_width";
// Of all its NVLinks together:
constexpr std::string_view kGpuNvlinkActive = "gpu.nvlink_active";
constexpr std::string_view kGpuNvlinkSentBytes = "gpu.nvlink_sent_bytes";
constexpr std::string_view kGpuNvlinkReceivedBytes = "gpu.nvlink_received_bytes";
constexpr std::string_view kGpuNvlinkCrcErrors = "gpu.nvlink_crc_errors";
constexpr std::string_view kGpuNvlinkReplays = "gpu.nvlink_replays";
constexpr std::string_view kGpuNvlinkRecoveries = "gpu.nvlink_recoveries";

// Facts of this category: what could not be seen of the host, the subject, and why.
constexpr std::string_view kNotSeen = "not-seen";

// Event: a process of the job computes on a GPU, the subject; detail {"pid"}.
constexpr std::string_view kGpuProcess = "gpu-process";
// Event: a GPU, the subject, is kept below its clocks; detail {"reason","state":"began"}, and later
// {"reason","state":"ended","held_s"}. One that has no end held to the end of the session.
constexpr std::string_view kGpuThrottled = "gpu-throttled";

// Events; the subject is the interface.
constexpr std::string_view kInterfaceDown = "interface-down";  // {"state","before","enabled"}
constexpr std::string_view kInterfaceUp = "interface-up";      // likewise
constexpr std::string_view kInterfaceGone = "interface-gone";
constexpr std::string_view kInterfaceCame = "interface-came";
constexpr std::string_view kLinkSpeedChanged = "link-speed-changed";  // {"mbps","before_mbps"}

}  // namespace chokepoint::record
