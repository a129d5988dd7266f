#include "analysis/report/timeline_document.h"

#include "analysis/load/run_summary.h"
#include "analysis/report/columns.h"
#include "analysis/report/json_values.h"
#include "base/sys/clock.h"

namespace chokepoint::analysis {
namespace {

using cli::Json;

// Values to a hundredth of a microsecond: enough that bars add up to what they are parts of.
double fine(double ms) { return std::round(ms * 1e5) / 1e5; }

class Writer {
 public:
  explicit Writer(std::int64_t origin_ns) : origin_ns_(origin_ns) {}

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
      {"clock", {{"source", node.clock_source}, {"error_ms", value_or_null(node.clock_error_ms)}}}};
}

}  // namespace

Json timeline_document(const Timeline& timeline) {
  const Writer writer(timeline.span.start_ns);
  Json json = {
      {"origin", timeline.wall_start_ns > 0 ? Json(sys::rfc3339(timeline.wall_start_ns)) : Json()},
      {"start_s", 0},
      {"end_s", writer.at(timeline.span.end_ns)}};
  json["nodes"] = column(timeline.nodes, [](const NodeTime& node) { return json_of(node); });
  json["axes"] = column(timeline.axes, [&](const TimeAxis& axis) { return writer.axis(axis); });
  json["tracks"] = column(timeline.tracks, [](const Track& track) { return json_of(track); });
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
  const Writer writer(timeline.span.start_ns);
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
    ms.push_back(
        column(bars, [&](const StepBar& bar) { return fine(bar.accounting.ms.at(account)); }));
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

}  // namespace chokepoint::analysis
