#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <array>

#include "base/checks/pci_checks.h"
#include "base/cli/table.h"
#include "base/cli/text.h"
#include "base/control/bodies.h"
#include "base/math/units.h"
#include "probe/commands/reports.h"
#include "probe/pcie/findings.h"

namespace chokepoint {

template <>
struct Fields<probe::pcie::HostCopies> {
  using C = probe::pcie::HostCopies;
  static constexpr std::tuple kList{
      field("host_to_device_mbps", &C::to_gpu_mbps, "10^6 bit/s"),
      field("device_to_host_mbps", &C::from_gpu_mbps, "10^6 bit/s"),
      field("both_ways_mbps", &C::both_mbps, "of both ways together, at the same time")};
};

template <>
struct Fields<probe::pcie::PeerCopies> {
  using C = probe::pcie::PeerCopies;
  static constexpr std::tuple kList{
      field("a_to_b_mbps", &C::there_mbps, "10^6 bit/s"),
      field("b_to_a_mbps", &C::back_mbps, "10^6 bit/s"),
      field("both_ways_mbps", &C::both_mbps, "of both ways together, at the same time")};
};

template <>
struct Fields<probe::pcie::PeerOutcome> {
  using P = probe::pcie::PeerOutcome;
  static constexpr std::tuple kList{
      field("a", &P::one, "PCI address of one GPU"),
      field("b", &P::other, "PCI address of the other"),
      field("peer_access", &P::reachable, "whether they reach each other's memory"),
      field("direct", &P::direct, "copies from GPU to GPU"),
      field("through_host", &P::staged, "copies through host memory"),
      field("verified_bytes", &P::verified_bytes, "compared with what was sent"),
      field("data_errors", &P::wrong, "what did not arrive as it was sent"),
      field("problems", &P::problems, "what could not be measured, and why")};
};

}  // namespace chokepoint

namespace chokepoint::probe {
namespace {

using cli::Json;
using control::or_null;
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

Json link_body(const host::PciLink& now, const host::PciLink& possible) {
  return {{"speed_gts", or_null(now.speed_gts)},
          {"width", or_null(now.width)},
          {"max_speed_gts", or_null(possible.speed_gts)},
          {"max_width", or_null(possible.width)}};
}

Json hops_body(const host::PciDevice& pci) {
  Json list = Json::array();
  for (const host::PciHop& hop : pci.path) {
    Json body = link_body(hop.current, hop.possible);
    body["bus_id"] = hop.address;
    body["payload_bytes"] = or_null(hop.payload_bytes);
    list.push_back(std::move(body));
  }
  return list;
}

Json counts_body(std::optional<std::int64_t> before, std::optional<std::int64_t> after) {
  return {{"before", or_null(before)}, {"after", or_null(after)}};
}

Json share_of(std::optional<double> rate, const std::optional<pcie::Ceiling>& ceiling) {
  return rate && ceiling ? Json(*rate * math::kPercent / ceiling->mbps) : Json();
}

void add_outcome(Json& body, const GpuOutcome& outcome,
                 const std::optional<pcie::Ceiling>& ceiling) {
  body["index"] = outcome.number;
  body["bytes"] = outcome.bytes;
  body["host_to_device_percent"] = share_of(outcome.pinned.to_gpu_mbps, ceiling);
  body["device_to_host_percent"] = share_of(outcome.pinned.from_gpu_mbps, ceiling);
  body["pageable"] = json::to_json(outcome.pageable);
  body["near_memory"] = outcome.near_node ? Json(!outcome.anywhere) : Json();
  body["numa_far"] = json::to_json(outcome.far);
  body["numa_far"]["node"] = or_null(outcome.far_node);
  body["copy_engines"] = or_null(outcome.engines);
  body["two_streams_mbps"] = or_null(outcome.two_streams_mbps);
  body["idle_link"] = link_body(outcome.link.idle, {});
  body["link_looks"] = outcome.link.looks;
  body["replays"] = counts_body(outcome.link.replays_before, outcome.link.replays_after);
  body["errors"] = counts_body(outcome.link.errors_before, outcome.link.errors_after);
  body["verified_bytes"] = outcome.verified_bytes;
  body["data_errors"] = outcome.wrong;
  body["problems"] = outcome.problems;
}

// A GPU's link as seen under load, else as it idles.
host::PciLink shown_link(const Device& device, const GpuOutcome* outcome) {
  return outcome != nullptr && outcome->link.looks > 0 ? outcome->link.best : device.link;
}

Json nearest_body(const PcieShown& shown, std::size_t gpu) {
  Json list = Json::array();
  if (const auto nearest =
          gpu < shown.slots.devices.size() ? pcie::nearest_to(shown.slots, gpu) : std::nullopt) {
    for (const std::size_t number : nearest->devices) {
      const Device& device = shown.slots.devices[number];
      list.push_back({{"bus_id", device.address},
                      {"names", device.names},
                      {"affinity", pcie::name_of(nearest->nearness)}});
    }
  }
  return list;
}

const pcie::HostCopies& pinned_of(const GpuOutcome* outcome) {
  static const pcie::HostCopies none;
  return outcome == nullptr ? none : outcome->pinned;
}

Json device_body(const PcieShown& shown, const Device& device, std::size_t number) {
  const GpuOutcome* outcome =
      shown.measured ? pcie::outcome_of(device, shown.measured->gpus) : nullptr;
  const auto ceiling = pcie::ceiling_of(device, outcome);
  Json body{{"bus_id", device.address},
            {"kind", pcie::name_of(device.kind)},
            {"name", pcie::label_of(device)},
            {"names", device.names},
            {"numa_node", or_null(device.pci.numa_node)},
            {"link", link_body(shown_link(device, outcome), device.possible)},
            {"hops", hops_body(pcie::under_load(device, outcome))},
            {"ceiling_mbps", ceiling ? Json(ceiling->mbps) : Json()},
            {"payload_bytes", ceiling ? Json(ceiling->payload_bytes) : Json()},
            {"payload_assumed", ceiling ? Json(!ceiling->payload_is_known) : Json()},
            {"line_rate_mbps", or_null(device.line_rate_mbps)}};
  body.update(json::to_json(pinned_of(outcome)));
  if (device.kind == Kind::Gpu) {
    body["link"]["seen"] = outcome != nullptr && outcome->link.looks > 0 ? "under-load" : "idle";
    body["nics"] = nearest_body(shown, number);
  }
  if (outcome != nullptr) {
    add_outcome(body, *outcome, ceiling);
  }
  return body;
}

Json affinity_body(const pcie::Slots& slots) {
  Json list = Json::array();
  for (const pcie::Affinity& pair : pcie::affinity_of(slots)) {
    list.push_back({{"a", slots.devices[pair.one].address},
                    {"b", slots.devices[pair.other].address},
                    {"affinity", pair.nearness ? Json(pcie::name_of(*pair.nearness)) : Json()}});
  }
  return list;
}

// Why nothing was copied.
Json unmeasured_body(const PcieShown& shown) {
  if (!shown.measured) {
    return "not asked for";
  }
  return shown.measured->problem ? Json(describe(*shown.measured->problem)) : Json();
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

void add_to(Json& document, const PcieShown& shown) {
  document["verdict"] = name_of(worst(shown.checks));
  document["bytes"] = shown.measured ? Json(shown.measured->bytes) : Json();
  const int version = shown.measured ? shown.measured->driver_version : 0;
  document["cuda_version"] = version > 0 ? Json(version) : Json();
  document["gpu_driver_version"] = or_null(shown.slots.gpus.driver_version);
  document["not_measured"] = unmeasured_body(shown);
  document["interrupted"] = shown.measured && shown.measured->interrupted;
  Json devices = Json::array();
  const std::vector<Device> all = devices_of(shown);
  for (std::size_t i = 0; i < all.size(); ++i) {
    devices.push_back(device_body(shown, all[i], i));
  }
  document["devices"] = std::move(devices);
  document["peers"] = shown.measured ? json::to_json(shown.measured->peers) : Json::array();
  document["affinity"] = affinity_body(shown.slots);
  document["checks"] = checks::json_of(shown.checks);
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
