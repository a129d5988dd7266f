#include "analysis/report/host_picture.h"

#include <fmt/format.h>

#include <algorithm>

#include <nlohmann/json.hpp>

#include "analysis/attribution/route.h"
#include "analysis/report/node_facts.h"
#include "analysis/report/tuning_facts.h"
#include "base/record/names.h"

namespace chokepoint::analysis {
namespace {

// From the first reading to the last. The counter never falls: who reads it goes on counting where
// an interface came back with a new count.
void read_counter(const NodeData& node, std::string_view name, const std::string& subject,
                  std::optional<double>& bytes, std::optional<double>& peak_mbps) {
  const SeriesData* series = node.find(name, subject);
  if (series == nullptr || series->readings.empty()) {
    return;
  }
  bytes = series->readings.back().value - series->readings.front().value;
  for (const Reading& reading : series->readings) {
    if (reading.peak > 0) {
      peak_mbps = std::max(peak_mbps.value_or(0), reading.peak * 8 / 1e6);
    }
  }
}

InterfaceTraffic traffic_of(const NodeData& node, const std::string& interface,
                            std::string_view sent, std::string_view received) {
  InterfaceTraffic traffic;
  read_counter(node, sent, interface, traffic.sent_bytes, traffic.sent_peak_mbps);
  read_counter(node, received, interface, traffic.received_bytes, traffic.received_peak_mbps);
  return traffic;
}

bool has_job(const RunData& run, const NodeData& node, const InterfacePicture& interface) {
  if (interface.job.sent_bytes.value_or(0) > 0 || interface.job.received_bytes.value_or(0) > 0) {
    return true;
  }
  return std::ranges::any_of(run.connections, [&](const Connection& connection) {
    return std::ranges::any_of(connection.ends, [&](const auto& end) {
      return end && &run.nodes[end->node] == &node &&
             node.flows[end->flow].row.interface == interface.name;
    });
  });
}

InterfacePicture picture_of(const RunData& run, const NodeData& node, const Interface& interface) {
  const std::string& name = interface.name;
  InterfacePicture picture{
      .name = name,
      .kind = interface.kind,
      .is_up = interface.is_up,
      .speed_mbps = card_of(node, name).speed_mbps,
      .mtu_bytes = count_of(node, "nic", name, "mtu"),
      .driver = text_of(node, "nic", name, "driver"),
      .addresses = interface.addresses,
      .all = traffic_of(node, name, record::kNicSentBytes, record::kNicReceivedBytes),
      .job = traffic_of(node, name, record::kJobSentBytes, record::kJobReceivedBytes),
      .source = fmt::format("facts nic {0}, counters nic.* and job.* of {0}", name)};
  picture.is_used = has_job(run, node, picture);
  picture.pcie = pcie_of(node, text_of(node, "nic", name, "pci_address"), name);
  return picture;
}

// Some were only seen while the job ran.
std::vector<std::string> gpus_of(const NodeData& node) {
  std::vector<std::string> gpus = subjects_of(node, "gpu");
  for (const SeriesData* series : node.find(record::kGpuUtilization)) {
    if (std::ranges::find(gpus, series->row.subject) == gpus.end()) {
      gpus.push_back(series->row.subject);
    }
  }
  return gpus;
}

std::string text_in(const nlohmann::json& object, const char* key) {
  const auto value = object.find(key);
  return value != object.end() && value->is_string() ? value->get<std::string>() : "";
}

std::vector<DoctorCheck> checks_in(const nlohmann::json& list) {
  std::vector<DoctorCheck> checks;
  for (const nlohmann::json& check : list) {
    if (check.is_object() && !text_in(check, "id").empty()) {
      checks.push_back({.id = text_in(check, "id"),
                        .status = text_in(check, "status"),
                        .subject = text_in(check, "subject"),
                        .found = text_in(check, "found"),
                        .wanted = text_in(check, "wanted"),
                        .why = text_in(check, "why"),
                        .next_step = text_in(check, "next_step")});
    }
  }
  return checks;
}

// The last that was kept.
std::optional<std::vector<DoctorCheck>> doctor_of(const NodeData& node) {
  std::optional<std::vector<DoctorCheck>> checks;
  for (const record::Probe& probe : node.probes) {
    const nlohmann::json document = probe.kind == "doctor"
                                        ? nlohmann::json::parse(probe.document, nullptr, false)
                                        : nlohmann::json();
    if (document.is_object() && document.contains("checks") && document["checks"].is_array()) {
      checks = checks_in(document["checks"]);
    }
  }
  return checks;
}

HostPicture picture_of(const RunData& run, const NodeData& node) {
  HostPicture picture{.name = node.name,
                      .host = node.host,
                      .kernel = text_of(node, "kernel", "", "release"),
                      .distribution = text_of(node, "kernel", "", "distribution"),
                      .cpu = text_of(node, "cpu", "", "model"),
                      .cores = count_of(node, "cpu", "", "cores"),
                      .memory_bytes = count_of(node, "memory", "", "total_bytes"),
                      .doctor = doctor_of(node)};
  std::vector<std::string> used;
  for (const Interface& interface : node.interfaces) {
    picture.interfaces.push_back(picture_of(run, node, interface));
    if (picture.interfaces.back().is_used) {
      used.push_back(interface.name);
    }
  }
  for (const std::string& bus_id : gpus_of(node)) {
    picture.gpus.push_back({.name = text_of(node, "gpu", bus_id, "name"),
                            .bus_id = bus_id,
                            .pcie = pcie_of(node, bus_id, bus_id)});
  }
  picture.facts = tuning_facts(node, used);
  return picture;
}

}  // namespace

std::optional<double> InterfacePicture::peak_mbps() const {
  const auto& [sent, received] = std::pair(all.sent_peak_mbps, all.received_peak_mbps);
  return sent && received ? std::max(sent, received) : sent ? sent : received;
}

std::vector<HostPicture> host_pictures(const RunData& run) {
  std::vector<HostPicture> pictures;
  for (const NodeData& node : run.nodes) {
    pictures.push_back(picture_of(run, node));
  }
  return pictures;
}

}  // namespace chokepoint::analysis
