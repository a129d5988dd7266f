#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>

#include "base/checks/nic_rules.h"
#include "base/checks/page.h"
#include "base/cli/table.h"
#include "base/cli/utf8.h"
#include "probe/commands/pcie_report.h"
#include "probe/pcie/affinity.h"
#include "probe/pcie/ceiling.h"
#include "probe/pcie/gpu_findings.h"

namespace chokepoint::probe {
namespace {

using cli::Align;
using pcie::Device;
using pcie::GpuOutcome;
using pcie::Kind;

constexpr double kPercent = 100;

std::string gigabytes(const std::optional<double>& mbps) {
  return mbps ? pcie::format_gigabytes(*mbps) : "-";
}

const pcie::HostCopies& pinned_of(const GpuOutcome* outcome) {
  static const pcie::HostCopies kNone;
  return outcome == nullptr ? kNone : outcome->pinned;
}

std::string title_of(const Device& device, const GpuOutcome* outcome) {
  const std::string number = outcome == nullptr ? "" : fmt::format("{} ", outcome->number);
  return device.kind == Kind::Gpu
             ? fmt::format("GPU {}{}", number, device.names.empty() ? "" : device.names.front())
             : pcie::label_of(device);
}

std::string link_text(const Device& device, const GpuOutcome* outcome) {
  if (outcome != nullptr && outcome->link.looks > 0) {
    return describe(outcome->link.best);
  }
  const std::string text = device.link.is_known() ? describe(device.link) : "-";
  return device.kind == Kind::Gpu && device.link.is_known() ? text + " idle" : text;
}

std::string share_text(const Device& device, const GpuOutcome* outcome,
                       const std::optional<pcie::Ceiling>& ceiling) {
  std::optional<double> part;
  if (outcome != nullptr && ceiling && outcome->pinned.to_gpu_mbps &&
      outcome->pinned.from_gpu_mbps) {
    part = std::min(*outcome->pinned.to_gpu_mbps, *outcome->pinned.from_gpu_mbps) / ceiling->mbps;
  } else if (device.line_rate_mbps && ceiling) {
    part = static_cast<double>(*device.line_rate_mbps) / ceiling->mbps;
  }
  return part ? fmt::format("{:.0f} %", *part * kPercent) : "-";
}

std::string node_text(const Device& device) {
  return device.pci.numa_node ? std::to_string(*device.pci.numa_node) : "-";
}

void print_devices(const cli::Context& context, const PcieShown& shown) {
  cli::Table table({{"device"},
                    {"at"},
                    {"node", Align::Right},
                    {"link"},
                    {"carries", Align::Right},
                    {"to it", Align::Right},
                    {"from it", Align::Right},
                    {"both", Align::Right},
                    {"line rate", Align::Right},
                    {"share", Align::Right}});
  for (const Device& device : devices_of(shown)) {
    const GpuOutcome* outcome =
        shown.measured ? pcie::outcome_of(device, shown.measured->gpus) : nullptr;
    const auto ceiling = pcie::ceiling_of(device, outcome);
    const pcie::HostCopies& copies = pinned_of(outcome);
    table.add(
        {title_of(device, outcome), device.address, node_text(device), link_text(device, outcome),
         ceiling ? gigabytes(ceiling->mbps) : "-", gigabytes(copies.to_gpu_mbps),
         gigabytes(copies.from_gpu_mbps), gigabytes(copies.both_mbps),
         device.line_rate_mbps ? checks::format_mbps(static_cast<double>(*device.line_rate_mbps))
                               : "-",
         share_text(device, outcome, ceiling)});
  }
  table.print(context.out, context.out_terminal);
  context.out << '\n';
}

bool has_any(const pcie::HostCopies& copies) {
  return copies.to_gpu_mbps || copies.from_gpu_mbps || copies.both_mbps;
}

void add_copies(cli::Table& table, const std::string& gpu, const std::string& memory,
                const pcie::HostCopies& copies) {
  if (has_any(copies)) {
    table.add({gpu, memory, gigabytes(copies.to_gpu_mbps), gigabytes(copies.from_gpu_mbps),
               gigabytes(copies.both_mbps)});
  }
}

void print_copies(const cli::Context& context, const PcieShown& shown) {
  cli::Table table({{"copies"},
                    {"host memory"},
                    {"to the GPU", Align::Right},
                    {"from it", Align::Right},
                    {"both at once", Align::Right}});
  for (const GpuOutcome& outcome : shown.measured->gpus) {
    const std::string gpu = fmt::format("GPU {}", outcome.number);
    const auto on = [](const std::optional<int>& node) {
      return node ? fmt::format(", node {}", *node) : std::string();
    };
    add_copies(table, gpu, "pinned" + on(outcome.near_node), outcome.pinned);
    add_copies(table, gpu, "pinned" + on(outcome.far_node) + ", far", outcome.far);
    add_copies(table, gpu, "pageable" + on(outcome.near_node), outcome.pageable);
    if (outcome.two_streams_mbps) {
      table.add({gpu,
                 fmt::format("pinned, two streams; {} copy engines",
                             outcome.engines ? std::to_string(*outcome.engines) : "?"),
                 gigabytes(outcome.two_streams_mbps), "-", "-"});
    }
  }
  table.print(context.out, context.out_terminal);
  context.out << '\n';
}

// "GPU 0", as the first table names it.
std::string number_of(const PcieShown& shown, const std::string& address) {
  const auto& gpus = shown.measured->gpus;
  const auto found = std::ranges::find(gpus, address, &GpuOutcome::address);
  return found == gpus.end() ? address : fmt::format("GPU {}", found->number);
}

void add_peers(cli::Table& table, const std::string& pair, const std::string& how,
               const pcie::PeerCopies& copies) {
  if (copies.there_mbps || copies.back_mbps || copies.both_mbps) {
    table.add({pair, how, gigabytes(copies.there_mbps), gigabytes(copies.back_mbps),
               gigabytes(copies.both_mbps)});
  }
}

void print_peers(const cli::Context& context, const PcieShown& shown) {
  if (shown.measured->peers.empty()) {
    return;
  }
  cli::Table table({{"between GPUs"},
                    {"how"},
                    {"there", Align::Right},
                    {"back", Align::Right},
                    {"both at once", Align::Right}});
  for (const pcie::PeerOutcome& peers : shown.measured->peers) {
    const std::string pair = number_of(shown, peers.one) + " > " + number_of(shown, peers.other);
    add_peers(table, pair, "directly", peers.direct);
    add_peers(table, pair, "through the host", peers.staged);
  }
  table.print(context.out, context.out_terminal);
  context.out << '\n';
}

// A matrix wants short names: "GPU 0" is explained by the first table, a NIC's first name is its
// own.
std::string short_name(const PcieShown& shown, const Device& device, int gpu) {
  if (device.kind != Kind::Gpu) {
    return device.names.front();
  }
  const GpuOutcome* outcome =
      shown.measured ? pcie::outcome_of(device, shown.measured->gpus) : nullptr;
  return fmt::format("GPU {}", outcome == nullptr ? gpu : outcome->number);
}

void print_matrix(const cli::Context& context, const PcieShown& shown) {
  const std::vector<Device>& devices = shown.slots.devices;
  if (devices.size() < 2) {
    return;
  }
  std::vector<std::string> names;
  for (const Device& device : devices) {
    names.push_back(short_name(shown, device, static_cast<int>(names.size())));
  }
  std::vector<cli::Column> columns{{"nearness"}};
  for (const std::string& name : names) {
    columns.push_back({name});
  }
  columns.push_back({"nearest NIC"});
  cli::Table table(std::move(columns));
  for (std::size_t one = 0; one < devices.size(); ++one) {
    std::vector<cli::Cell> row{names[one]};
    for (std::size_t other = 0; other < devices.size(); ++other) {
      const auto nearness = pcie::nearness_of(devices[one], devices[other], shown.slots.numa_nodes);
      row.emplace_back(nearness ? std::string(pcie::name_of(*nearness)) : "?");
    }
    std::string nearest;
    if (const auto found =
            devices[one].kind == Kind::Gpu ? pcie::nearest_to(shown.slots, one) : std::nullopt) {
      for (const std::size_t number : found->devices) {
        nearest += (nearest.empty() ? "" : ", ") + pcie::label_of(devices[number]);
      }
    }
    row.emplace_back(nearest);
    table.add(std::move(row));
  }
  table.print(context.out, context.out_terminal);
  context.out << "PIX one bridge or switch, PXB several, PHB the processor's host bridge, NODE "
                 "between host\nbridges of one NUMA node, SYS between NUMA nodes\n\n";
}

}  // namespace

void print_page(const cli::Context& context, const PcieShown& shown, bool all) {
  if (devices_of(shown).empty()) {
    context.out << "no GPU, NIC or RDMA device in a PCIe slot of this host's own\n\n";
  } else {
    print_devices(context, shown);
  }
  if (shown.measured && !shown.measured->gpus.empty()) {
    print_copies(context, shown);
    print_peers(context, shown);
  }
  print_matrix(context, shown);
  if (shown.measured && shown.measured->problem) {
    fmt::print(context.out, "nothing copied: {}\n\n",
               cli::printable(describe(*shown.measured->problem)));
  } else if (shown.measured && shown.measured->interrupted) {
    context.out << "interrupted: what was measured until then\n\n";
  }
  checks::print_page(context, shown.checks, all);
}

}  // namespace chokepoint::probe
