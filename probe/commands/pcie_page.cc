#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>

#include "base/checks/check.h"
#include "base/checks/pci_checks.h"
#include "base/cli/table.h"
#include "base/cli/text.h"
#include "probe/commands/pcie_report.h"
#include "probe/commands/units.h"
#include "probe/pcie/affinity.h"
#include "probe/pcie/ceiling.h"
#include "probe/pcie/gpu_findings.h"

namespace chokepoint::probe {
namespace {

using cli::Align;
using pcie::Device;
using pcie::GpuOutcome;
using pcie::Kind;

std::string gigabytes(const std::optional<double>& mbps) {
  return mbps ? pcie::format_gigabytes(*mbps) : "-";
}

const pcie::HostCopies& pinned_of(const GpuOutcome* outcome) {
  static const pcie::HostCopies none;
  return outcome == nullptr ? none : outcome->pinned;
}

// CUDA's number where copies were made; else nvidia-smi's, which goes by address.
std::string gpu_name(const PcieShown& shown, const Device& device, std::size_t place) {
  const bool copied = shown.measured && !shown.measured->gpus.empty();
  const GpuOutcome* outcome = copied ? pcie::outcome_of(device, shown.measured->gpus) : nullptr;
  return outcome != nullptr ? fmt::format("GPU {}", outcome->number)
         : copied           ? "GPU " + device.address
                            : fmt::format("GPU {}", place);
}

std::string title_of(const PcieShown& shown, const Device& device, std::size_t place) {
  if (device.kind != Kind::Gpu) {
    return pcie::label_of(device);
  }
  return gpu_name(shown, device, place) + (device.names.empty() ? "" : " " + device.names.front());
}

// The link that bounds all others, wherever it is; what a GPU has now where it was not seen at
// work.
std::string link_text(const Device& device, const GpuOutcome* outcome,
                      const std::optional<pcie::Ceiling>& ceiling) {
  const bool was_seen = outcome != nullptr && outcome->link.looks > 0;
  if (device.kind == Kind::Gpu && !was_seen) {
    return device.link.is_known() ? describe(device.link) + " now" : "-";
  }
  if (ceiling && ceiling->hop.address != device.address) {
    return describe(ceiling->hop.current) + " above it";
  }
  const host::PciLink link = was_seen ? outcome->link.best : device.link;
  return link.is_known() ? describe(link) : "-";
}

std::string carries_text(const Device& device, const std::optional<pcie::Ceiling>& ceiling) {
  if (!ceiling) {
    return "-";
  }
  return device.kind == Kind::Gpu ? gigabytes(ceiling->mbps) : checks::format_mbps(ceiling->mbps);
}

// What copies reach of the link, or what a port asks of it.
cli::Cell share_cell(const Device& device, const GpuOutcome* outcome,
                     const std::optional<pcie::Ceiling>& ceiling) {
  const pcie::HostCopies& copies = pinned_of(outcome);
  if (ceiling && copies.to_gpu_mbps && copies.from_gpu_mbps) {
    const double share = std::min(*copies.to_gpu_mbps, *copies.from_gpu_mbps) / ceiling->mbps;
    return fmt::format("{:.0f} %", share * kPercent);
  }
  if (ceiling && device.line_rate_mbps) {
    const double share = static_cast<double>(*device.line_rate_mbps) / ceiling->mbps;
    return {fmt::format("{:.0f} %", share * kPercent),
            share > 1 ? cli::Tint::Bad : cli::Tint::None};
  }
  return "-";
}

std::string line_rate_text(const Device& device) {
  return device.line_rate_mbps ? checks::format_mbps(static_cast<double>(*device.line_rate_mbps))
                               : "-";
}

std::string node_text(const Device& device) {
  return device.pci.numa_node ? std::to_string(*device.pci.numa_node) : "-";
}

void print_devices(const cli::Context& context, const PcieShown& shown) {
  const bool copied = shown.measured && !shown.measured->gpus.empty();
  std::vector<cli::Column> columns{
      {"device"}, {"at"}, {"node", Align::Right}, {"link"}, {"carries", Align::Right}};
  if (copied) {
    columns.insert(columns.end(),
                   {{"to it", Align::Right}, {"from it", Align::Right}, {"both", Align::Right}});
  }
  columns.insert(columns.end(), {{"line rate", Align::Right}, {"share", Align::Right}});
  cli::Table table(std::move(columns));
  const std::vector<Device> devices = devices_of(shown);
  for (std::size_t place = 0; place < devices.size(); ++place) {
    const Device& device = devices[place];
    const GpuOutcome* outcome =
        shown.measured ? pcie::outcome_of(device, shown.measured->gpus) : nullptr;
    const auto ceiling = pcie::ceiling_of(device, outcome);
    const pcie::HostCopies& copies = pinned_of(outcome);
    std::vector<cli::Cell> row{title_of(shown, device, place), device.address, node_text(device),
                               link_text(device, outcome, ceiling), carries_text(device, ceiling)};
    if (copied) {
      row.insert(row.end(), {gigabytes(copies.to_gpu_mbps), gigabytes(copies.from_gpu_mbps),
                             gigabytes(copies.both_mbps)});
    }
    row.emplace_back(line_rate_text(device));
    row.push_back(share_cell(device, outcome, ceiling));
    table.add(std::move(row));
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
    const std::optional<int> near = outcome.anywhere ? std::nullopt : outcome.near_node;
    add_copies(table, gpu, "pinned" + on(near), outcome.pinned);
    add_copies(table, gpu, "pinned" + on(outcome.far_node) + ", far", outcome.far);
    add_copies(table, gpu, "pageable" + on(near), outcome.pageable);
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

std::string nearest_text(const PcieShown& shown, std::size_t gpu) {
  std::string text;
  if (const auto nearest = pcie::nearest_to(shown.slots, gpu)) {
    for (const std::size_t number : nearest->devices) {
      text += (text.empty() ? "" : ", ") + pcie::label_of(shown.slots.devices[number]);
    }
  }
  return text.empty() ? "-" : text;
}

// A matrix wants short ones: a card's first name is enough.
std::vector<std::string> short_names(const PcieShown& shown) {
  std::vector<std::string> names;
  for (const Device& device : shown.slots.devices) {
    names.push_back(device.kind == Kind::Gpu ? gpu_name(shown, device, names.size())
                                             : device.names.front());
  }
  return names;
}

void print_matrix(const cli::Context& context, const PcieShown& shown) {
  const std::vector<Device>& devices = shown.slots.devices;
  if (devices.size() < 2) {
    return;
  }
  const bool has_gpus = devices.front().kind == Kind::Gpu;
  const std::vector<std::string> names = short_names(shown);
  std::vector<cli::Column> columns{{"nearness"}};
  for (const std::string& name : names) {
    columns.push_back({name});
  }
  if (has_gpus) {
    columns.push_back({"nearest NIC"});
  }
  cli::Table table(std::move(columns));
  for (std::size_t one = 0; one < devices.size(); ++one) {
    std::vector<cli::Cell> row{names[one]};
    for (const Device& other : devices) {
      const auto nearness = pcie::nearness_of(devices[one], other, shown.slots.numa_nodes);
      row.emplace_back(nearness ? std::string(pcie::name_of(*nearness)) : "?");
    }
    if (has_gpus) {
      row.emplace_back(devices[one].kind == Kind::Gpu ? nearest_text(shown, one) : "");
    }
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
