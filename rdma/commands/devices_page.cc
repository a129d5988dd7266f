// How the listing looks: the JSON document and the page.
#include <fmt/format.h>
#include <fmt/ostream.h>
#include <fmt/ranges.h>

#include "base/checks/check.h"
#include "base/cli/table.h"
#include "base/cli/text.h"
#include "measure/checks/pci_checks.h"
#include "measure/checks/rdma_checks.h"
#include "rdma/commands/device_listing.h"

namespace chokepoint::rdma {
namespace {

using cli::Tint;

std::optional<ShownPciLink> link_of(const host::RdmaDevice& device) {
  const host::PciHop* hop = device.pci ? narrowest_hop(*device.pci) : nullptr;
  if (hop == nullptr) {
    return std::nullopt;
  }
  const host::PciLink& most = device.pci->path.back().maximum;
  return ShownPciLink{.at = hop->address,
                      .speed_gts = hop->current.speed_gts,
                      .width = hop->current.width,
                      .max_speed_gts = most.speed_gts,
                      .max_width = most.width,
                      .ceiling_mbps = ceiling_mbps(*device.pci)};
}

ShownPort shown(const DeviceListing& listing, const host::RdmaDevice& device,
                const host::RdmaPort& port) {
  ShownPort shown{.number = port.number,
                  .state = port.state.value_or(""),
                  .physical_state = port.physical.value_or(""),
                  .link_layer = port.link_layer.value_or(""),
                  .rate = port.rate.value_or(""),
                  .netdev = port.netdev.value_or(""),
                  .netdev_mtu_bytes = port.netdev_mtu_bytes,
                  .active_mtu_bytes = port.active_mtu_bytes};
  // The rate that a software device reports means nothing.
  if (device.pci_address && port.rate) {
    shown.rate_mbps = host::rdma_rate_mbps(*port.rate);
  }
  if (port.netdev_mtu_bytes) {
    shown.possible_mtu_bytes = host::roce_mtu_bytes(*port.netdev_mtu_bytes);
  }
  if (const auto pfc = flow_control_of(listing, port)) {
    shown.pfc_priorities = pfc->enabled;
  }
  if (const host::RdmaGid* usable = checks::usable_gid(port)) {
    shown.usable_gid_index = usable->index;
  }
  for (const host::RdmaGid& gid : port.gids) {
    shown.gids.push_back({.index = gid.index,
                          .gid = gid.address,
                          .address = gid.address.unmapped(),
                          .type = gid.type.value_or(""),
                          .netdev = gid.netdev.value_or("")});
  }
  return shown;
}

ShownDevice shown(const DeviceListing& listing, const host::RdmaDevice& device) {
  ShownDevice all{.name = device.name,
                  .firmware = device.firmware.value_or(""),
                  .pci_address = device.pci_address.value_or(""),
                  .numa_node = device.numa_node,
                  .pci_link = link_of(device)};
  for (const host::RdmaPort& port : device.ports) {
    all.ports.push_back(shown(listing, device, port));
  }
  return all;
}

constexpr std::string_view kNone =
    "no RDMA device\n"
    "  is a card here whose driver (mlx5_ib, irdma, bnxt_re) is not loaded?\n"
    "    lspci -nn | grep -iE 'mellanox|infiniband|e810|bcm57'\n"
    "  one in software, to try things on:\n"
    "    modprobe rdma_rxe && rdma link add rxe0 type rxe netdev INTERFACE\n";

// "16 GT/s x8 at 0000:3b:00.0, 126 Gb/s; the card can do 16 GT/s x16"
std::string link_text(const host::RdmaDevice& device) {
  const host::PciHop* hop = device.pci ? narrowest_hop(*device.pci) : nullptr;
  if (hop == nullptr) {
    return device.pci ? fmt::format("{}, link unknown", device.pci->address) : "";
  }
  std::string text = fmt::format("{} at {}", describe(hop->current), hop->address);
  if (const std::optional<double> ceiling = ceiling_mbps(*device.pci)) {
    text += fmt::format(", {}", checks::format_mbps(*ceiling));
  }
  const host::PciLink& most = device.pci->path.back().maximum;
  if (is_below(hop->current, most)) {
    text += fmt::format("; the card can do {}", describe(most));
  }
  return text;
}

std::string device_text(const host::RdmaDevice& device) {
  std::string text = device.firmware ? "firmware " + *device.firmware : "";
  const auto add = [&](const std::string& more) {
    text += fmt::format("{}{}", text.empty() ? "" : ", ", more);
  };
  if (!device.pci_address) {
    add("in software");
  }
  if (device.numa_node) {
    add(fmt::format("NUMA node {}", *device.numa_node));
  }
  return text;
}

// The rate that a software device reports is not the one that it reaches.
std::string rate_text(const host::RdmaDevice& device, const host::RdmaPort& port) {
  const std::string rate = port.rate.value_or("rate unknown");
  return device.pci_address ? rate : rate + " nominal";
}

std::string mtu_text(const host::RdmaPort& port) {
  std::string text;
  if (port.active_mtu_bytes) {
    text = fmt::format("{} in force", *port.active_mtu_bytes);
  }
  if (port.netdev_mtu_bytes) {
    text += fmt::format("{}{} possible with {}'s {}", text.empty() ? "" : ", ",
                        host::roce_mtu_bytes(*port.netdev_mtu_bytes), port.netdev.value_or("?"),
                        *port.netdev_mtu_bytes);
  }
  return text;
}

std::string pfc_text(const DeviceListing& listing, const host::RdmaPort& port) {
  const auto pfc = flow_control_of(listing, port);
  if (!pfc) {
    return "";
  }
  return pfc->enabled.empty() ? "off" : fmt::format("priority {}", fmt::join(pfc->enabled, ", "));
}

void print_line(const cli::Context& context, std::string_view label, const std::string& text) {
  constexpr int kColumn = 10;
  if (!text.empty()) {
    const std::string lines =
        cli::wrapped(cli::printable(text), context.out_terminal.width, kColumn);
    fmt::print(context.out, "  {:<8}{}", label, lines.substr(kColumn));
  }
}

void print_gids(const cli::Context& context, const host::RdmaPort& port) {
  const host::RdmaGid* usable = checks::usable_gid(port);
  cli::Table table({{"  GID", cli::Align::Right}, {"type"}, {"address"}, {"interface"}, {""}});
  for (const host::RdmaGid& gid : port.gids) {
    const bool is_best = &gid == usable;
    table.add({std::to_string(gid.index),
               gid.type.value_or("?"),
               gid.address.unmapped().text(),
               gid.netdev.value_or("?"),
               {is_best ? "use this" : "", Tint::Good}});
  }
  if (!port.gids.empty()) {
    table.print(context.out, context.out_terminal);
  }
}

void print_port(const cli::Context& context, const DeviceListing& listing,
                const host::RdmaDevice& device, const host::RdmaPort& port) {
  print_line(context, fmt::format("port {}", port.number),
             fmt::format("{}, {}, {}, {}", port.state.value_or("state unknown"),
                         port.physical.value_or("link unknown"), rate_text(device, port),
                         port.link_layer.value_or("link layer unknown")));
  print_line(context, "MTU", mtu_text(port));
  print_line(context, "PFC", pfc_text(listing, port));
  print_gids(context, port);
}

void print_device(const cli::Context& context, const DeviceListing& listing,
                  const host::RdmaDevice& device) {
  fmt::print(context.out, "{}  {}\n",
             cli::tinted(cli::printable(device.name), Tint::Bold, context.out_terminal),
             cli::printable(device_text(device)));
  print_line(context, "PCIe", link_text(device));
  for (const host::RdmaPort& port : device.ports) {
    print_port(context, listing, device, port);
  }
  context.out << '\n';
}

}  // namespace

ShownDevices document_of(const DeviceListing& listing) {
  ShownDevices document{.verdict = worst(listing.checks), .checks = listing.checks};
  const auto& limit = listing.process.locked_memory_bytes;
  if (limit && limit->soft != host::kUnlimited) {
    document.locked_memory_limit_bytes = limit->soft;
  }
  for (const host::RdmaDevice& device : listing.devices) {
    document.devices.push_back(shown(listing, device));
  }
  return document;
}

void print_page(const cli::Context& context, const DeviceListing& listing, bool all) {
  if (listing.devices.empty()) {
    context.out << kNone;
    return;
  }
  for (const host::RdmaDevice& device : listing.devices) {
    print_device(context, listing, device);
  }
  checks::print_page(context, listing.checks, all);
}

}  // namespace chokepoint::rdma
