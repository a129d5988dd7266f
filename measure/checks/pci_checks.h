// Does PCIe carry what the port can? Every hop's link against what both its ends can do, and the
// bandwidth that leaves against the line rate: pci.link, pci.bandwidth, pci.shared, pci.errors.
// Pure: facts in, checks out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/checks/check.h"
#include "base/host/network.h"
#include "base/host/rdma.h"

namespace chokepoint::checks {

// What the checks of a NIC share: at which speed a rule begins to matter, and how a check begins.
// Pure.

// Below 10G a host keeps up with its defaults; from 40G on one CPU no longer does, and advice that
// was a courtesy becomes a need.
inline constexpr std::int64_t kFastMbps = 10'000;
inline constexpr std::int64_t kVeryFastMbps = 40'000;

// A port that is up: what a job may use, and all that is judged beyond nic.link.
bool is_in_use(const host::Nic& nic);
// The speed in force, of sysfs or of the driver.
std::optional<std::int64_t> line_rate_mbps(const host::Nic& nic);
// The speed in force, 0 where it is not known: rules that depend on it then do not apply.
std::int64_t speed_or_zero(const host::Nic& nic);

std::string format_mbps(double mbps);  // "57.6 Gb/s", "100 Mb/s"

Check check_of(std::string_view id, const host::Nic& nic, std::string_view why);

void check_pci_link(const host::Nic& nic, Checks& checks);
void check_pci_bandwidth(const host::Nic& nic, Checks& checks);
void check_pci_shared(const host::Network& network, const host::Nic& nic, Checks& checks);
void check_pci_errors(const host::Nic& nic, Checks& checks);

// Does PCIe carry what an RDMA device's port can? As pci_checks.h judges a NIC's. Pure.

void check_rdma_pci(const host::RdmaDevice& device, Checks& checks);

// Is the card judged as a NIC already?
bool is_judged_as_nic(const host::RdmaDevice& device, const host::Network& network);

}  // namespace chokepoint::checks
