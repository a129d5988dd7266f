#include "analysis/report/document_parts.h"

#include <cmath>

#include "analysis/load/run_summary.h"
#include "base/json/codec.h"
#include "base/sys/clock.h"

namespace chokepoint::analysis {
namespace {

using cli::Json;

// To four significant digits, to keep the page small; null for NaN.
Json rounded(double value) {
  if (!std::isfinite(value)) {
    return {};
  }
  if (value == 0) {
    return 0;
  }
  const double scale = std::pow(10, 3 - std::floor(std::log10(std::abs(value))));
  const double round = std::round(value * scale) / scale;
  if (std::abs(round) < 1e15 && round == std::floor(round)) {
    return static_cast<std::int64_t>(round);
  }
  return round;
}

// In seconds, to 10 µs.
double seconds_since(std::int64_t origin_ns, std::int64_t t_ns) {
  return std::round(static_cast<double>(t_ns - origin_ns) / 1e4) / 1e5;
}

template <class Rows, class F>
Json column(const Rows& rows, F&& value) {
  Json list = Json::array();
  for (const auto& row : rows) {
    list.push_back(value(row));
  }
  return list;
}

// To 10 ns, so that the parts of a bar add up to the whole.
double rounded_ms(double ms) { return std::round(ms * 1e5) / 1e5; }

// Writes times as seconds since the origin.
class TimelineWriter {
 public:
  explicit TimelineWriter(std::int64_t origin_ns) : origin_ns_(origin_ns) {}

  double at(std::int64_t t_ns) const { return seconds_since(origin_ns_, t_ns); }

  Json axis(const TimeAxis& axis) const {
    return {{"edges_s", column(axis.edges_ns, [this](std::int64_t edge) { return at(edge); })}};
  }

  template <class Rows, class F>
  void add_spans(const Rows& rows, F&& span, Json& into) const {
    into["start_s"] = column(rows, [&](const auto& row) { return at(span(row).start_ns); });
    into["end_s"] = column(rows, [&](const auto& row) { return at(span(row).end_ns); });
  }

  Json steps(const ShownSteps& steps) const {
    Json json = {{"source", steps.source ? Json(name_of(*steps.source)) : Json()}};
    add_spans(steps.steps, [](const ShownStep& step) { return step.span; }, json);
    json["count"] = column(steps.steps, [](const ShownStep& step) { return step.count; });
    json["settled"] = column(steps.steps, [](const ShownStep& step) { return step.is_settled; });
    json["shown"] = steps.steps.size();
    json["all"] = steps.all;
    return json;
  }

  Json lane(const Lane& lane) const {
    Json json = {{"node", lane.node},
                 {"rank", value_or_null(lane.rank)},
                 {"kind", lane.kind},
                 {"names", lane.names}};
    add_spans(lane.entries, [](const LaneEntry& entry) { return entry.span; }, json);
    json["name"] = column(lane.entries, [](const LaneEntry& entry) { return entry.name; });
    if (lane.kind == "collectives") {
      json["bytes"] =
          column(lane.entries, [](const LaneEntry& entry) { return value_or_null(entry.bytes); });
    }
    json["shown"] = lane.entries.size();
    json["all"] = lane.all;
    json["source"] = lane.source;
    return json;
  }

  Json spans(const std::vector<Span>& spans) const {
    return column(spans, [this](const Span& span) {
      return Json{{"start_s", at(span.start_ns)}, {"end_s", at(span.end_ns)}};
    });
  }

 private:
  std::int64_t origin_ns_;
};

Json json_of(const Track& track) {
  Json direction;
  if (track.direction) {
    direction = *track.direction == record::Direction::AToB ? "a_to_b" : "b_to_a";
  }
  return {{"group", track.group},
          {"node", track.node},
          {"flow", value_or_null(track.flow)},
          {"name", track.name},
          {"subject", text_or_null(track.subject)},
          {"direction", std::move(direction)},
          {"unit", track.unit},
          {"axis", track.axis},
          {"values", column(track.values, rounded)},
          {"source", track.source}};
}

Json json_of(const NodeTime& node) {
  return {
      {"name", node.name},
      {"ranks", node.ranks},
      {"clock",
       {{"source", name_of(node.clock_source)}, {"error_ms", value_or_null(node.clock_error_ms)}}}};
}

Json json_of(const math::Distribution& values) {
  return {{"min", values.min}, {"median", values.median}, {"p99", values.p99},
          {"max", values.max}, {"mean", values.mean},     {"count", values.count}};
}

Json json_of(const LimitTimes& times) {
  constexpr std::array kKeys{
      "link",           "loss",      "receive_window", "send_buffer", "congestion_window",
      "library_credit", "round_trip"};
  static_assert(kKeys.size() == kLimits);
  Json by_limit;
  for (std::size_t limit = 0; limit < kLimits; ++limit) {
    by_limit[kKeys.at(limit)] = times.ns.at(limit) / 1e6;
  }
  return by_limit;
}

Json json_of(const PciePicture& pcie) {
  return {{"bus_id", text_or_null(pcie.bus_id)},
          {"speed_gts", value_or_null(pcie.speed_gts)},
          {"width", value_or_null(pcie.width)},
          {"max_speed_gts", value_or_null(pcie.max_speed_gts)},
          {"max_width", value_or_null(pcie.max_width)},
          {"ceiling_mbps", value_or_null(pcie.ceiling_mbps)},
          {"possible_mbps", value_or_null(pcie.possible_mbps)},
          {"source", pcie.source}};
}

Json json_of(const OtherWay& way) {
  return {{"address", text_or_null(way.address)}, {"mbps", way.mbps}};
}

template <class T>
Json json_of(const std::optional<T>& value) {
  return value ? json_of(*value) : Json();
}

Json json_of(const FlowSide& side) {
  return {{"name", side.name},
          {"address", side.address},
          {"port", value_or_null(side.port)},
          {"rank", value_or_null(side.rank)},
          {"interface", text_or_null(side.interface)},
          {"process", text_or_null(side.process)}};
}

Json json_of(const FlowWay& way) {
  return {{"bytes", value_or_null(way.bytes)},
          {"payload_bytes", value_or_null(way.payload_bytes)},
          {"packets", value_or_null(way.packets)},
          {"retransmitted_packets", value_or_null(way.retransmitted_packets)},
          {"retransmitted_percent", value_or_null(way.retransmitted_percent())},
          {"fast_retransmissions", value_or_null(way.fast_retransmissions)},
          {"timeout_retransmissions", value_or_null(way.timeout_retransmissions)},
          {"out_of_order", value_or_null(way.out_of_order)},
          {"duplicate_acks", value_or_null(way.duplicate_acks)},
          {"zero_windows", value_or_null(way.zero_windows)},
          {"window_full", value_or_null(way.window_full)},
          {"throughput_mbps", value_or_null(way.throughput_mbps)},
          {"busy_s", value_or_null(way.busy_s)},
          {"busy_mbps", value_or_null(way.busy_mbps)},
          {"max_in_flight_bytes", value_or_null(way.max_in_flight_bytes)},
          {"max_window_bytes", value_or_null(way.max_window_bytes)},
          {"max_cwnd_bytes", value_or_null(way.max_cwnd_bytes)},
          {"rtt_ms", json_of(way.rtt_ms)},
          {"limited_by", json_of(way.limited_by)}};
}

const std::string& first_known(const std::string& one, const std::string& other) {
  return one.empty() ? other : one;
}

Json json_of(const FlowLine& line, std::size_t id) {
  const auto& [a, b] = line.sides;
  return {{"id", id},
          {"protocol", line.protocol},
          {"a", json_of(a)},
          {"b", json_of(b)},
          {"interface", text_or_null(first_known(a.interface, b.interface))},
          {"process", text_or_null(first_known(a.process, b.process))},
          {"start_s", value_or_null(line.start_s)},
          {"end_s", value_or_null(line.end_s)},
          {"min_rtt_ms", value_or_null(line.min_rtt_ms)},
          {"rtt_ms", json_of(line.rtt_ms())},
          {"a_to_b", json_of(line.ways[0])},
          {"b_to_a", json_of(line.ways[1])},
          {"seen_by", line.seen_by},
          {"source", line.source}};
}

Json json_of(const InterfacePicture& interface) {
  return {{"name", interface.name},
          {"kind", text_or_null(interface.kind)},
          {"is_up", interface.is_up},
          {"speed_mbps", value_or_null(interface.speed_mbps)},
          {"mtu_bytes", value_or_null(interface.mtu_bytes)},
          {"driver", text_or_null(interface.driver)},
          {"addresses", interface.addresses},
          {"used", interface.is_used},
          {"sent_bytes", value_or_null(interface.all.sent_bytes)},
          {"received_bytes", value_or_null(interface.all.received_bytes)},
          {"sent_peak_mbps", value_or_null(interface.all.sent_peak_mbps)},
          {"received_peak_mbps", value_or_null(interface.all.received_peak_mbps)},
          {"peak_mbps", value_or_null(interface.peak_mbps())},
          {"job_sent_bytes", value_or_null(interface.job.sent_bytes)},
          {"job_received_bytes", value_or_null(interface.job.received_bytes)},
          {"pcie", json_of(interface.pcie)},
          {"source", interface.source}};
}

Json json_of(const GpuPicture& gpu) {
  return {{"name", text_or_null(gpu.name)}, {"bus_id", gpu.bus_id}, {"pcie", json_of(gpu.pcie)}};
}

Json json_of(const record::Fact& fact) {
  return {{"category", fact.category},
          {"subject", text_or_null(fact.subject)},
          {"key", fact.key},
          {"value", fact.value},
          {"source", text_or_null(fact.source)}};
}

Json json_of(const PathPicture& path) {
  return {{"from", path.from},
          {"to", path.to},
          {"is_wan", value_or_null(path.is_wan)},
          {"family", text_or_null(path.family)},
          {"min_rtt_ms", value_or_null(path.min_rtt_ms)},
          {"median_rtt_ms", value_or_null(path.median_rtt_ms)},
          {"retransmitted_percent", value_or_null(path.retransmitted_percent)},
          {"payload_bytes", value_or_null(path.payload_bytes)},
          {"reached_mbps", value_or_null(path.reached_mbps)},
          {"mean_busy_mbps", value_or_null(path.mean_busy_mbps)},
          {"interface_mbps", value_or_null(path.interface_mbps)},
          {"pcie_mbps", value_or_null(path.pcie_mbps)},
          {"probe_mbps", value_or_null(path.probe_mbps)},
          {"full_mbps", value_or_null(path.full_mbps)},
          {"other_way", json_of(path.other_way)},
          {"possible_mbps", value_or_null(path.possible_mbps())},
          {"limit", path.limit() == nullptr ? Json() : Json(path.limit())},
          {"source", path.source}};
}

Json json_of(const ProbeLine& line) {
  return {{"node", line.node},
          {"kind", line.kind},
          {"peer", text_or_null(line.peer)},
          {"address", text_or_null(line.address)},
          {"direction", text_or_null(line.direction)},
          {"at", sys::rfc3339(line.wall_ns)},
          {"what", line.what},
          {"probe_value", line.probe_value},
          {"job_value", value_or_null(line.job_value)},
          {"unit", line.unit},
          {"share_percent", value_or_null(line.share_percent())},
          {"source", line.source}};
}

Json json_of(const ProbeValue& value) {
  if (const auto* number = std::get_if<double>(&value)) {
    return *number;
  }
  const auto* text = std::get_if<std::string>(&value);
  return text == nullptr ? Json() : Json(*text);
}

Json json_of(const NamedList& list) {
  return {{"what", list.what},
          {"count", list.count},
          {"columns", column(list.columns,
                             [](const NamedList::Column& each) {
                               return Json{{"what", each.what}, {"unit", text_or_null(each.unit)}};
                             })},
          {"rows", column(list.rows, [](const std::vector<ProbeValue>& row) {
             return column(row, [](const ProbeValue& value) { return json_of(value); });
           })}};
}

Json json_of(const RecordedProbe& probe) {
  return {{"node", probe.node},
          {"kind", probe.kind},
          {"peer", text_or_null(probe.peer)},
          {"direction", text_or_null(probe.direction)},
          {"at", sys::rfc3339(probe.wall_ns)},
          {"source", probe.source},
          {"values", column(probe.values,
                            [](const NamedValue& each) {
                              return Json{{"what", each.what},
                                          {"value", json_of(each.value)},
                                          {"unit", text_or_null(each.unit)}};
                            })},
          {"lists", column(probe.lists, [](const NamedList& list) { return json_of(list); })}};
}

template <class T>
Json list_of(const std::vector<T>& rows) {
  return column(rows, [](const T& row) { return json_of(row); });
}

Json json_of(const HostPicture& host) {
  return {{"name", host.name},
          {"host", text_or_null(host.host)},
          {"kernel", text_or_null(host.kernel)},
          {"distribution", text_or_null(host.distribution)},
          {"cpu", text_or_null(host.cpu)},
          {"cores", value_or_null(host.cores)},
          {"memory_bytes", value_or_null(host.memory_bytes)},
          {"interfaces", list_of(host.interfaces)},
          {"gpus", list_of(host.gpus)},
          {"facts", list_of(host.facts)},
          {"doctor", host.doctor ? json::to_json(*host.doctor) : Json()}};
}

template <class T>
Json square_of(const Square<T>& square) {
  return column(square, [](const auto& row) { return column(row, value_or_null<T>); });
}

}  // namespace

Json timeline_document(const Timeline& timeline) {
  const TimelineWriter writer(timeline.span.start_ns);
  Json json = {
      {"origin", timeline.wall_start_ns > 0 ? Json(sys::rfc3339(timeline.wall_start_ns)) : Json()},
      {"start_s", 0},
      {"end_s", writer.at(timeline.span.end_ns)}};
  json["nodes"] = list_of(timeline.nodes);
  json["axes"] = column(timeline.axes, [&](const TimeAxis& axis) { return writer.axis(axis); });
  json["tracks"] = list_of(timeline.tracks);
  json["steps"] = writer.steps(timeline.steps);
  json["lanes"] = column(timeline.lanes, [&](const Lane& lane) { return writer.lane(lane); });
  json["communicating"] = Json::object();
  writer.add_spans(
      timeline.communicating, [](const Span& span) { return span; }, json["communicating"]);
  json["windows"] = writer.spans(timeline.windows);
  json["remarks"] = timeline.remarks;
  return json;
}

Json moments_document(const Timeline& timeline) {
  const TimelineWriter writer(timeline.span.start_ns);
  return column(timeline.moments, [&](const Moment& moment) {
    const bool has_length = moment.span.length_ns() > 0;
    return Json{{"start_s", writer.at(moment.span.start_ns)},
                {"end_s", has_length ? Json(writer.at(moment.span.end_ns)) : Json()},
                {"node", text_or_null(moment.node)},
                {"kind", moment.is_evidence ? "evidence" : "event"},
                {"what", moment.what},
                {"detail", text_or_null(moment.detail)},
                {"source", moment.source}};
  });
}

Json accounting_document(const Diagnosis& diagnosis, const std::vector<StepBar>& bars,
                         std::int64_t origin_ns) {
  if (!diagnosis.accounting) {
    return {};
  }
  Json accounts = Json::array();
  Json ms = Json::array();
  for (std::size_t account = 0; account < kAccounts; ++account) {
    accounts.push_back(name_of(Account(account)));
    ms.push_back(column(
        bars, [&](const StepBar& bar) { return rounded_ms(bar.accounting.ms.at(account)); }));
  }
  return {
      {"accounts", std::move(accounts)},
      {"total_ms_per_step", diagnosis.accounting->ms},
      {"steps",
       {{"number", column(bars, [](const StepBar& bar) { return bar.number; })},
        {"start_s",
         column(bars, [&](const StepBar& bar) { return seconds_since(origin_ns, bar.start_ns); })},
        {"count", column(bars, [](const StepBar& bar) { return bar.count; })},
        {"ms", std::move(ms)}}},
      {"source",
       "in total as diagnosed; each step has the part of it that was measured in that step, and "
       "sums to its own length"}};
}

Json flows_document(const FlowTable& table) {
  Json list = Json::array();
  for (const FlowLine& line : table.flows) {
    list.push_back(json_of(line, list.size()));
  }
  return list;
}

Json hosts_document(const std::vector<HostPicture>& hosts) {
  return column(hosts, [](const HostPicture& host) { return json_of(host); });
}

Json paths_document(const std::vector<PathPicture>& paths) { return list_of(paths); }

Json probes_document(const ProbeTable& table) { return list_of(table.lines); }

Json recorded_document(const std::vector<RecordedProbe>& probes) { return list_of(probes); }

Json matrix_document(const TrafficMatrix& matrix) {
  return {{"names", matrix.names},
          {"bytes", square_of(matrix.bytes)},
          {"throughput_mbps", square_of(matrix.throughput_mbps)},
          {"source", matrix.source}};
}

}  // namespace chokepoint::analysis
