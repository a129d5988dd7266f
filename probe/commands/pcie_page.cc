#include "probe/commands/pcie_page.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <array>

#include "base/cli/table.h"
#include "base/cli/text.h"
#include "base/math/units.h"
#include "measure/checks/pci_checks.h"
#include "probe/pcie/findings.h"

namespace chokepoint::probe {
namespace {

using pcie::Device;
using pcie::GpuOutcome;
using pcie::Kind;

// GPUs that only CUDA shows are devices, too.
std::vector<Device> devices_of(const PcieShown& shown) {
  std::vector<Device> devices = shown.slots.devices;
  if (!shown.measured) {
    return devices;
  }
  for (const GpuOutcome& outcome : shown.measured->gpus) {
    if (!outcome.address.empty() &&
        std::ranges::find(devices, outcome.address, &Device::address) == devices.end()) {
      Device device{.kind = Kind::Gpu, .address = outcome.address, .is_up = true};
      if (!outcome.name.empty()) {
        device.names.push_back(outcome.name);
      }
      devices.push_back(std::move(device));
    }
  }
  return devices;
}

documents::PcieLink link_of(const host::PciLink& now, const host::PciLink& possible) {
  return {.speed_gts = now.speed_gts,
          .width = now.width,
          .max_speed_gts = possible.speed_gts,
          .max_width = possible.width};
}

std::vector<documents::PcieHop> hops_of(const host::PciDevice& pci) {
  std::vector<documents::PcieHop> hops;
  for (const host::PciHop& hop : pci.path) {
    hops.push_back({.link = link_of(hop.current, hop.possible),
                    .bus_id = hop.address,
                    .payload_bytes = hop.payload_bytes});
  }
  return hops;
}

std::optional<double> percent_of(std::optional<double> rate,
                                 const std::optional<pcie::Ceiling>& ceiling) {
  return rate && ceiling ? std::optional(*rate * math::kPercent / ceiling->mbps) : std::nullopt;
}

documents::PcieGpu gpu_of(const GpuOutcome& outcome, const std::optional<pcie::Ceiling>& ceiling) {
  documents::PcieGpu gpu{
      .index = outcome.number,
      .bytes = outcome.bytes,
      .host_to_device_percent = percent_of(outcome.pinned.to_gpu_mbps, ceiling),
      .device_to_host_percent = percent_of(outcome.pinned.from_gpu_mbps, ceiling),
      .pageable = outcome.pageable,
      .numa_far = {.copies = outcome.far, .node = outcome.far_node},
      .copy_engines = outcome.engines,
      .two_streams_mbps = outcome.two_streams_mbps,
      .idle_link = link_of(outcome.link.idle, {}),
      .link_looks = outcome.link.looks,
      .replays = {.before = outcome.link.replays_before, .after = outcome.link.replays_after},
      .errors = {.before = outcome.link.errors_before, .after = outcome.link.errors_after},
      .verified_bytes = outcome.verified_bytes,
      .data_errors = outcome.wrong,
      .problems = outcome.problems};
  if (outcome.near_node) {
    gpu.near_memory = !outcome.anywhere;
  }
  return gpu;
}

// A GPU's link as seen under load, else as it idles.
host::PciLink shown_link(const Device& device, const GpuOutcome* outcome) {
  return outcome != nullptr && outcome->link.looks > 0 ? outcome->link.best : device.link;
}

std::vector<documents::PcieNic> nearest_nics(const PcieShown& shown, std::size_t gpu) {
  std::vector<documents::PcieNic> nics;
  if (const auto nearest =
          gpu < shown.slots.devices.size() ? pcie::nearest_to(shown.slots, gpu) : std::nullopt) {
    for (const std::size_t number : nearest->devices) {
      const Device& device = shown.slots.devices[number];
      nics.push_back(
          {.bus_id = device.address, .names = device.names, .affinity = nearest->nearness});
    }
  }
  return nics;
}

const pcie::HostCopies& pinned_of(const GpuOutcome* outcome) {
  static const pcie::HostCopies none;
  return outcome == nullptr ? none : outcome->pinned;
}

documents::PcieDevice device_of(const PcieShown& shown, const Device& device, std::size_t number) {
  const GpuOutcome* outcome =
      shown.measured ? pcie::outcome_of(device, shown.measured->gpus) : nullptr;
  const auto ceiling = pcie::ceiling_of(device, outcome);
  documents::PcieDevice body{
      .bus_id = device.address,
      .kind = device.kind,
      .name = pcie::label_of(device),
      .names = device.names,
      .numa_node = device.pci.numa_node,
      .link = {.link = link_of(shown_link(device, outcome), device.possible)},
      .hops = hops_of(pcie::under_load(device, outcome)),
      .line_rate_mbps = device.line_rate_mbps,
      .copies = pinned_of(outcome)};
  if (ceiling) {
    body.ceiling_mbps = ceiling->mbps;
    body.payload_bytes = ceiling->payload_bytes;
    body.payload_assumed = !ceiling->payload_is_known;
  }
  if (device.kind == Kind::Gpu) {
    body.link.seen = outcome != nullptr && outcome->link.looks > 0
                         ? documents::LinkSeenWhen::UnderLoad
                         : documents::LinkSeenWhen::Idle;
    body.nics = nearest_nics(shown, number);
  }
  if (outcome != nullptr) {
    body.gpu = gpu_of(*outcome, ceiling);
  }
  return body;
}

void add_measured(const pcie::Measured& measured, documents::Pcie& document) {
  document.bytes = measured.bytes;
  if (measured.driver_version > 0) {
    document.cuda_version = measured.driver_version;
  }
  document.not_measured = measured.problem.transform(describe);
  document.interrupted = measured.interrupted;
  document.peers = measured.peers;
}

using cli::Align;

std::string gigabytes(const std::optional<double>& mbps) {
  return mbps ? pcie::format_gigabytes(*mbps) : "-";
}

// CUDA's number if copies were made, else nvidia-smi's, which numbers by address.
std::string gpu_name(const PcieShown& shown, const Device& device, std::size_t number) {
  const bool copied = shown.measured && !shown.measured->gpus.empty();
  const GpuOutcome* outcome = copied ? pcie::outcome_of(device, shown.measured->gpus) : nullptr;
  return outcome != nullptr ? fmt::format("GPU {}", outcome->number)
         : copied           ? "GPU " + device.address
                            : fmt::format("GPU {}", number);
}

std::string title_of(const PcieShown& shown, const Device& device, std::size_t number) {
  if (device.kind != Kind::Gpu) {
    return pcie::label_of(device);
  }
  return gpu_name(shown, device, number) + (device.names.empty() ? "" : " " + device.names.front());
}

// The narrowest link of the path; a GPU's present link if it was not seen under load.
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

// The share of the link that copies reach, or that a port's line rate needs.
cli::Cell share_cell(const Device& device, const GpuOutcome* outcome,
                     const std::optional<pcie::Ceiling>& ceiling) {
  const pcie::HostCopies& copies = pinned_of(outcome);
  if (ceiling && copies.to_gpu_mbps && copies.from_gpu_mbps) {
    const double share = std::min(*copies.to_gpu_mbps, *copies.from_gpu_mbps) / ceiling->mbps;
    return fmt::format("{:.0f} %", share * math::kPercent);
  }
  if (ceiling && device.line_rate_mbps) {
    const double share = static_cast<double>(*device.line_rate_mbps) / ceiling->mbps;
    return {fmt::format("{:.0f} %", share * math::kPercent),
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
  for (std::size_t number = 0; number < devices.size(); ++number) {
    const Device& device = devices[number];
    const GpuOutcome* outcome =
        shown.measured ? pcie::outcome_of(device, shown.measured->gpus) : nullptr;
    const auto ceiling = pcie::ceiling_of(device, outcome);
    const pcie::HostCopies& copies = pinned_of(outcome);
    std::vector<cli::Cell> row{title_of(shown, device, number), device.address, node_text(device),
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

// No row where nothing was measured.
void add_rates(cli::Table& table, const std::string& what, const std::string& how,
               const std::array<std::optional<double>, 3>& mbps) {
  if (mbps != std::array<std::optional<double>, 3>()) {
    table.add({what, how, gigabytes(mbps[0]), gigabytes(mbps[1]), gigabytes(mbps[2])});
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
    const auto add = [&](const std::string& memory, const pcie::HostCopies& copies) {
      add_rates(table, gpu, memory, {copies.to_gpu_mbps, copies.from_gpu_mbps, copies.both_mbps});
    };
    add("pinned" + on(near), outcome.pinned);
    add("pinned" + on(outcome.far_node) + ", far", outcome.far);
    add("pageable" + on(near), outcome.pageable);
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
    for (const auto& [how, copies] :
         {std::pair("directly", peers.direct), std::pair("through the host", peers.staged)}) {
      add_rates(table, pair, how, {copies.there_mbps, copies.back_mbps, copies.both_mbps});
    }
  }
  table.print(context.out, context.out_terminal);
  context.out << '\n';
}

std::string nearest_text(const PcieShown& shown, std::size_t gpu) {
  const auto nearest = pcie::nearest_to(shown.slots, gpu);
  return nearest ? pcie::labels_of(shown.slots, nearest->devices) : "-";
}

// For the matrix: a card's first name is enough.
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
      row.emplace_back(nearness ? std::string(name_of(*nearness)) : "?");
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

documents::Pcie document_of(const PcieShown& shown) {
  documents::Pcie document{.verdict = worst(shown.checks),
                           .gpu_driver_version = shown.slots.gpus.driver_version,
                           .not_measured = "not asked for",
                           .checks = shown.checks};
  if (shown.measured) {
    add_measured(*shown.measured, document);
  }
  const std::vector<Device> devices = devices_of(shown);
  for (std::size_t i = 0; i < devices.size(); ++i) {
    document.devices.push_back(device_of(shown, devices[i], i));
  }
  for (const pcie::Affinity& pair : pcie::affinity_of(shown.slots)) {
    document.affinity.push_back({.a = shown.slots.devices[pair.one].address,
                                 .b = shown.slots.devices[pair.other].address,
                                 .affinity = pair.nearness});
  }
  return document;
}

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
