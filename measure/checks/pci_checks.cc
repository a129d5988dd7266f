#include "measure/checks/pci_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ranges>

namespace chokepoint::checks {

bool is_in_use(const host::Nic& nic) { return is_port(nic) && is_up(nic); }

std::optional<std::int64_t> line_rate_mbps(const host::Nic& nic) {
  if (nic.speed_mbps) {
    return nic.speed_mbps;
  }
  return nic.settings.modes ? nic.settings.modes->speed_mbps : std::nullopt;
}

std::int64_t speed_or_zero(const host::Nic& nic) { return line_rate_mbps(nic).value_or(0); }

std::string format_mbps(double mbps) {
  const double shown = mbps < 1000 ? mbps : mbps / 1000;
  return fmt::format("{} {}", std::round(shown * 10) / 10, mbps < 1000 ? "Mb/s" : "Gb/s");
}

Check check_of(std::string_view id, const host::Nic& nic, std::string_view why) {
  return {.id = std::string(id), .subject = nic.name, .why = std::string(why)};
}

namespace {

// Less than three quarters of the line rate is a slot that was never meant for the card.
constexpr double kCriticalShare = 0.75;
constexpr std::int64_t kManyCorrectable = 1000;

// What the port asks of PCIe: its speed, or while it has no link what it can do.
std::optional<std::int64_t> asked_of_pci(const host::Nic& nic) {
  const auto rate = line_rate_mbps(nic);
  return rate || !nic.settings.modes ? rate : nic.settings.modes->fastest_mbps;
}

bool leaves_enough(const host::Nic& nic) {
  const auto ceiling = ceiling_mbps(*nic.pci);
  const auto asked = asked_of_pci(nic);
  return ceiling && asked && *ceiling >= static_cast<double>(*asked);
}

// A finding about a port that no job can use is worth a line, no alarm.
Status unless_idle(const host::Nic& nic, Status status) {
  return is_up(nic) ? status : std::min(status, Status::Info);
}

// From the card upwards, because the link next to the card is the usual culprit.
const host::PciHop* trained_down(const host::PciDevice& device) {
  for (const host::PciHop& hop : device.path | std::views::reverse) {
    if (is_below(hop.current, hop.possible)) {
      return &hop;
    }
  }
  return nullptr;
}

std::string lspci(const host::PciHop& hop) {
  return fmt::format("lspci -vv -s {} | grep -E 'LnkCap:|LnkSta:'", hop.address);
}

// The least links of the card's own generations that carry the rate: "8 GT/s x16 or 16 GT/s x8".
std::string sufficient_links(const host::PciLink& maximum, std::int64_t rate) {
  constexpr std::array<double, 3> kSpeeds{8, 16, 32};
  constexpr std::array<int, 5> kWidths{1, 2, 4, 8, 16};
  std::string text;
  for (const double speed : kSpeeds) {
    const auto width = std::ranges::find_if(kWidths, [&](int lanes) {
      return host::ceiling_mbps(speed, lanes, host::kUsualPayloadBytes) >=
             static_cast<double>(rate);
    });
    if (width != kWidths.end() && !is_below(maximum, {.speed_gts = speed, .width = *width})) {
      text += fmt::format("{}{} GT/s x{}", text.empty() ? "" : " or ", speed, *width);
    }
  }
  return text;
}

std::string remedy(const host::PciDevice& device, const host::PciHop& hop, std::int64_t rate) {
  if (is_below(hop.current, hop.possible)) {
    return fmt::format("{}; reseat card and riser, check the slot's lanes and speed in the BIOS",
                       lspci(hop));
  }
  const std::string links = sufficient_links(device.path.back().maximum, rate);
  if (links.empty()) {
    return lspci(hop) + "; the card itself has no wider or faster link";
  }
  return fmt::format("{}; move the card to a slot of {}", lspci(hop), links);
}

bool has_known_link(const host::Nic& nic) { return nic.pci && narrowest_hop(*nic.pci) != nullptr; }

// Functions of one card differ in the digit behind the dot and share one link.
std::string_view slot_of(std::string_view address) {
  return address.substr(0, address.find_last_of('.'));
}

// The sum of all ports in use behind one hop.
std::int64_t rate_behind(const host::Network& network, const std::string& hop) {
  std::int64_t sum = 0;
  for (const host::Nic& nic : network.nics) {
    const bool counts = nic.kind == host::NicKind::Physical && is_up(nic) && nic.pci;
    if (counts && std::ranges::any_of(nic.pci->path, [&](const host::PciHop& other) {
          return slot_of(other.address) == slot_of(hop);
        })) {
      sum += speed_or_zero(nic);
    }
  }
  return sum;
}

bool is_grave(const host::PciErrors& errors) {
  return errors.nonfatal.value_or(0) > 0 || errors.fatal.value_or(0) > 0;
}

// One grave error outweighs any number of corrected ones.
const host::PciHop* hop_of_most_errors(const host::PciDevice& device) {
  const host::PciHop* worst = nullptr;
  for (const host::PciHop& hop : device.path) {
    const auto weight = [](const host::PciHop& each) {
      return std::pair(is_grave(each.errors), each.errors.correctable.value_or(0));
    };
    if (hop.errors.correctable && (worst == nullptr || weight(hop) > weight(*worst))) {
      worst = &hop;
    }
  }
  return worst;
}

}  // namespace

void check_pci_link(const host::Nic& nic, Checks& checks) {
  if (!is_port(nic) || !nic.pci) {
    return;
  }
  Check check = check_of("pci.link", nic, "a PCIe link below its capability may limit the port");
  if (!has_known_link(nic)) {
    if (is_up(nic) && speed_or_zero(nic) >= kFastMbps) {
      check.status = Status::Unknown;
      check.why = "no hop between the port and the CPU reports its PCIe speed and width";
      check.next_step = fmt::format("lspci -vv -s {}", nic.pci->address);
      checks.push_back(std::move(check));
    }
    return;
  }
  const host::PciHop& card = nic.pci->path.back();
  if (const host::PciHop* hop = trained_down(*nic.pci)) {
    check.status = unless_idle(nic, Status::Warning);
    check.found = fmt::format("{} at {}", describe(hop->current), hop->address);
    check.wanted = fmt::format("{}: what both ends of this link support", describe(hop->possible));
    check.next_step = remedy(*nic.pci, *hop, 0);
  } else if (is_below(card.current, card.maximum)) {
    check.status = unless_idle(nic, leaves_enough(nic) ? Status::Info : Status::Warning);
    check.found = fmt::format("{} at {}", describe(card.current), card.address);
    check.wanted = fmt::format("{}: what the card supports", describe(card.maximum));
    check.why = "the slot provides less than the card can use";
    if (leaves_enough(nic)) {
      check.why += ", but enough for this port";
    } else {
      check.next_step = remedy(*nic.pci, card, asked_of_pci(nic).value_or(0));
    }
  } else {
    const host::PciHop& narrowest = *narrowest_hop(*nic.pci);
    check.found = fmt::format("{} at {}", describe(narrowest.current), narrowest.address);
    check.why = "every PCIe hop of the port runs at its maximum";
  }
  checks.push_back(std::move(check));
}

void check_pci_bandwidth(const host::Nic& nic, Checks& checks) {
  const auto asked = asked_of_pci(nic);
  if (!is_port(nic) || !has_known_link(nic) || !asked) {
    return;
  }
  const host::PciHop& hop = *narrowest_hop(*nic.pci);
  const double ceiling = *ceiling_mbps(*nic.pci);
  const auto payload = payload_of(*nic.pci);
  Check check =
      check_of("pci.bandwidth", nic,
               "data cannot leave or enter the host faster than its PCIe link carries it");
  check.found = fmt::format("{} over {} at {}, payload {} bytes{}", format_mbps(ceiling),
                            describe(hop.current), hop.address,
                            payload.value_or(host::kUsualPayloadBytes), payload ? "" : " assumed");
  check.wanted = fmt::format("{} of the port", format_mbps(static_cast<double>(*asked)));
  const double share = ceiling / static_cast<double>(*asked);
  if (share < 1) {
    check.status = unless_idle(nic, share < kCriticalShare ? Status::Critical : Status::Warning);
    check.next_step = remedy(*nic.pci, hop, *asked);
  }
  checks.push_back(std::move(check));
}

void check_pci_shared(const host::Network& network, const host::Nic& nic, Checks& checks) {
  if (!is_in_use(nic) || !has_known_link(nic)) {
    return;
  }
  const host::PciHop& hop = *narrowest_hop(*nic.pci);
  const std::int64_t sum = rate_behind(network, hop.address);
  const double ceiling = *ceiling_mbps(*nic.pci);
  // A port that alone asks too much is pci.bandwidth's.
  if (sum <= speed_or_zero(nic) || static_cast<double>(sum) <= ceiling || !leaves_enough(nic)) {
    return;
  }
  Check check = check_of("pci.shared", nic, "ports behind one PCIe link share what it carries");
  check.status = Status::Info;
  check.found = fmt::format("{} at {}", format_mbps(ceiling), hop.address);
  check.wanted = fmt::format("{} for all ports behind it", format_mbps(static_cast<double>(sum)));
  checks.push_back(std::move(check));
}

void check_pci_errors(const host::Nic& nic, Checks& checks) {
  const host::PciHop* worst = is_port(nic) && nic.pci ? hop_of_most_errors(*nic.pci) : nullptr;
  if (worst == nullptr) {
    return;
  }
  const host::PciErrors& errors = worst->errors;
  Check check =
      check_of("pci.errors", nic, "each corrected PCIe error is a retransmitted transfer");
  check.found = fmt::format("{} corrected, {} not fatal, {} fatal at {}", *errors.correctable,
                            errors.nonfatal.value_or(0), errors.fatal.value_or(0), worst->address);
  if (is_grave(errors) || *errors.correctable > 0) {
    const bool many = is_grave(errors) || *errors.correctable >= kManyCorrectable;
    check.status = many ? Status::Warning : Status::Info;
    check.wanted = "0";
    check.next_step = "dmesg | grep -iE 'aer|pcieport'  # reseat card and riser";
  }
  checks.push_back(std::move(check));
}

namespace {

double rate_mbps(const host::RdmaPort& port) {
  return port.rate ? host::rdma_rate_mbps(*port.rate).value_or(0) : 0;
}

// The port that asks most of PCIe, an active one before others.
const host::RdmaPort* busiest_port(const host::RdmaDevice& device) {
  const auto weight = [](const host::RdmaPort& port) {
    return std::pair(is_active(port), rate_mbps(port));
  };
  const auto most = std::ranges::max_element(device.ports, {}, weight);
  return most == device.ports.end() ? nullptr : &*most;
}

// What the checks of a NIC look at, whatever the link layer.
host::Nic as_nic(const host::RdmaDevice& device, const host::RdmaPort& port) {
  host::Nic nic{.name = device.name,
                .kind = host::NicKind::Physical,
                .enabled = is_active(port),
                .carrier = is_active(port),
                .pci = device.pci};
  if (const double rate = rate_mbps(port); rate > 0) {
    nic.speed_mbps = static_cast<std::int64_t>(rate);
  }
  return nic;
}

}  // namespace

void check_rdma_pci(const host::RdmaDevice& device, Checks& checks) {
  const host::RdmaPort* port = busiest_port(device);
  if (!device.pci || port == nullptr) {
    return;
  }
  const host::Nic nic = as_nic(device, *port);
  check_pci_link(nic, checks);
  check_pci_bandwidth(nic, checks);
  check_pci_errors(nic, checks);
}

bool is_judged_as_nic(const host::RdmaDevice& device, const host::Network& network) {
  return std::ranges::any_of(network.nics, [&](const host::Nic& nic) {
    return is_port(nic) && nic.pci && device.pci && nic.pci->address == device.pci->address;
  });
}

}  // namespace chokepoint::checks
