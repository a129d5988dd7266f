#include "analysis/load/purposes.h"

#include <algorithm>

#include "analysis/load/connections.h"
#include "base/record/names.h"
#include "base/sys/number.h"

namespace chokepoint::analysis {
namespace {

using traffic::Content;
using traffic::Purpose;

// What the wire between hosts does not carry is not in the job's volume.
bool is_on_a_wire(const record::Flow& flow) { return flow.local_end.known(); }

const std::string& address_of(const record::Flow& flow, bool is_local) {
  return (flow.local_end.value_or(0) == 0) == is_local ? flow.a_address : flow.b_address;
}

Content content_in(const record::Flow& flow) {
  return named<Content>(flow.content).value_or(Content::Unknown);
}

bool is_between_ranks_alone(Content content) {
  switch (content) {
    case Content::Gloo:
    case Content::Nccl:
    case Content::OpenMpi:
    case Content::Ucx:
    case Content::TcpStore:
    case Content::TensorPipe:
      return true;
    default:
      return false;
  }
}

std::uint16_t port_of(record::Figure port) { return static_cast<std::uint16_t>(port.value_or(0)); }

void add(std::optional<double>& sum, double bytes) { sum = sum.value_or(0) + bytes; }

void add(Volume& sum, const Volume& more) {
  add(sum.sent_bytes, more.sent_bytes.value_or(0));
  add(sum.received_bytes, more.received_bytes.value_or(0));
}

PurposeVolume& entry_of(std::vector<PurposeVolume>& all, Purpose purpose) {
  const auto at = std::ranges::lower_bound(all, purpose, {}, &PurposeVolume::purpose);
  return at != all.end() && at->purpose == purpose ? *at : *all.insert(at, {.purpose = purpose});
}

std::optional<double> last_of(const NodeData& node, std::string_view name) {
  std::optional<double> sum;
  for (const SeriesData* series : node.find(name)) {
    if (!series->readings.empty()) {
      sum = sum.value_or(0) + series->readings.back().value;
    }
  }
  return sum;
}

// The rest of what was counted.
double missing(std::optional<double> counted, double known) {
  return std::max(0.0, counted.value_or(0) - known);
}

}  // namespace

bool is_of_job(const record::Flow& flow) {
  return flow.job.value_or(0) == 1 || flow.process.known();
}

void RankPlaces::add(const record::Flow& flow) {
  if (!is_of_job(flow) || !is_on_a_wire(flow)) {
    return;
  }
  addresses_.insert(plain_address(address_of(flow, true)));
  if (is_between_ranks_alone(content_in(flow))) {
    addresses_.insert(plain_address(address_of(flow, false)));
  }
}

void RankPlaces::add(const record::Fact& fact) {
  if (fact.category == "environment" && fact.subject == "ranks" && fact.key == "MASTER_PORT") {
    meeting_ports_.insert(sys::parse_number<std::int64_t>(fact.value).value_or(-1));
  }
}

Purpose RankPlaces::purpose_of(const record::Flow& flow) const {
  return traffic::purpose_of(
      {.is_tcp = flow.protocol == "tcp",
       .content = content_in(flow),
       .ports = {port_of(flow.a_port), port_of(flow.b_port)},
       .is_between_ranks = addresses_.contains(plain_address(flow.a_address)) &&
                           addresses_.contains(plain_address(flow.b_address)),
       .is_at_meeting_port = meeting_ports_.contains(flow.a_port.value_or(0)) ||
                             meeting_ports_.contains(flow.b_port.value_or(0))});
}

std::vector<PurposeVolume> purposes_of(std::span<const FlowTraffic> flows, const RankPlaces& ranks,
                                       const Volume& job) {
  std::vector<PurposeVolume> all;
  if (std::ranges::all_of(flows,
                          [](const FlowTraffic& flow) { return flow.row.content.empty(); })) {
    return all;
  }
  Volume known;
  for (const FlowTraffic& flow : flows) {
    if (!is_of_job(flow.row) || !is_on_a_wire(flow.row)) {
      continue;
    }
    const auto sending = static_cast<std::size_t>(flow.row.local_end.value_or(0) == 1 ? 1 : 0);
    const Volume volume{.sent_bytes = flow.bytes.at(sending),
                        .received_bytes = flow.bytes.at(1 - sending)};
    PurposeVolume& entry = entry_of(all, ranks.purpose_of(flow.row));
    add(entry.volume, volume);
    ++entry.connections;
    add(known, volume);
  }
  const Volume rest{
      .sent_bytes = missing(job.sent_bytes, known.sent_bytes.value_or(0)),
      .received_bytes = missing(job.received_bytes, known.received_bytes.value_or(0))};
  if (!all.empty() && *rest.sent_bytes + *rest.received_bytes > 0) {
    add(entry_of(all, Purpose::Unknown).volume, rest);
  }
  return all;
}

std::vector<PurposeVolume> purposes_of(const RunData& run) {
  std::vector<PurposeVolume> all;
  for (const NodeData& node : run.nodes) {
    std::vector<FlowTraffic> flows;
    for (const FlowData& flow : node.flows) {
      if (flow.totals[0].bytes.known() || flow.totals[1].bytes.known()) {
        flows.push_back({.row = flow.row,
                         .bytes = {static_cast<double>(flow.totals[0].bytes.value_or(0)),
                                   static_cast<double>(flow.totals[1].bytes.value_or(0))}});
      }
    }
    const Volume job{.sent_bytes = last_of(node, record::kJobSentBytes),
                     .received_bytes = last_of(node, record::kJobReceivedBytes)};
    add_purposes(all, purposes_of(flows, run.ranks, job));
  }
  return all;
}

double share_of(const PurposeVolume& one, std::span<const PurposeVolume> all) {
  const auto bytes_of = [](const PurposeVolume& each) {
    return each.volume.sent_bytes.value_or(0) + each.volume.received_bytes.value_or(0);
  };
  double sum = 0;
  for (const PurposeVolume& each : all) {
    sum += bytes_of(each);
  }
  return sum > 0 ? bytes_of(one) / sum : 0;
}

void add_purposes(std::vector<PurposeVolume>& sums, const std::vector<PurposeVolume>& more) {
  for (const PurposeVolume& each : more) {
    PurposeVolume& sum = entry_of(sums, each.purpose);
    add(sum.volume, each.volume);
    sum.connections += each.connections;
  }
}

}  // namespace chokepoint::analysis
