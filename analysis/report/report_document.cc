#include "analysis/report/report_document.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <span>

namespace chokepoint::analysis {
namespace {

// In seconds, to 10 µs.
double seconds_since(std::int64_t origin_ns, std::int64_t t_ns) {
  return std::round(static_cast<double>(t_ns - origin_ns) / 1e4) / 1e5;
}

// To 10 ns, so that the parts of a bar add up to the whole.
double rounded_ms(double ms) { return std::round(ms * 1e5) / 1e5; }

template <class Rows, class F>
auto column(const Rows& rows, F&& value) {
  std::vector<std::remove_cvref_t<decltype(value(rows.front()))>> list;
  list.reserve(rows.size());
  std::ranges::transform(rows, std::back_inserter(list), value);
  return list;
}

// Times as seconds since the origin.
class SinceOrigin {
 public:
  explicit SinceOrigin(std::int64_t origin_ns) : origin_ns_(origin_ns) {}

  double at(std::int64_t t_ns) const { return seconds_since(origin_ns_, t_ns); }

  template <class Rows, class F>
  SpanColumns spans(const Rows& rows, F&& span) const {
    return {.start_s = column(rows, [&](const auto& row) { return at(span(row).start_ns); }),
            .end_s = column(rows, [&](const auto& row) { return at(span(row).end_ns); })};
  }

  StepColumns steps(const ShownSteps& steps) const {
    return {.source = steps.source,
            .spans = spans(steps.steps, [](const ShownStep& step) { return step.span; }),
            .count = column(steps.steps, [](const ShownStep& step) { return step.count; }),
            .settled = column(steps.steps, [](const ShownStep& step) { return step.is_settled; }),
            .shown = steps.steps.size(),
            .all = steps.all};
  }

  LaneColumns lane(const Lane& lane) const {
    LaneColumns columns{
        .node = lane.node,
        .rank = lane.rank,
        .kind = lane.kind,
        .names = lane.names,
        .spans = spans(lane.entries, [](const LaneEntry& entry) { return entry.span; }),
        .name = column(lane.entries, [](const LaneEntry& entry) { return entry.name; }),
        .shown = lane.entries.size(),
        .all = lane.all,
        .source = lane.source};
    if (lane.kind == LaneKind::Collectives) {
      columns.bytes = column(lane.entries, [](const LaneEntry& entry) { return entry.bytes; });
    }
    return columns;
  }

 private:
  std::int64_t origin_ns_;
};

}  // namespace

ShownTimeline shown(const Timeline& timeline) {
  const SinceOrigin since(timeline.span.start_ns);
  return {
      .origin = timeline.wall_start_ns > 0
                    ? std::optional(documents::WallTime{.ns = timeline.wall_start_ns})
                    : std::nullopt,
      .start_s = 0,
      .end_s = since.at(timeline.span.end_ns),
      .nodes = timeline.nodes,
      .axes = column(timeline.axes,
                     [&](const TimeAxis& axis) {
                       return AxisColumns{.edges_s = column(axis.edges_ns, [&](std::int64_t edge) {
                                            return since.at(edge);
                                          })};
                     }),
      .tracks = timeline.tracks,
      .steps = since.steps(timeline.steps),
      .lanes = column(timeline.lanes, [&](const Lane& lane) { return since.lane(lane); }),
      .communicating = since.spans(timeline.communicating, [](const Span& span) { return span; }),
      .windows = column(timeline.windows,
                        [&](const Span& span) {
                          return ShownSpan{.start_s = since.at(span.start_ns),
                                           .end_s = since.at(span.end_ns)};
                        }),
      .remarks = timeline.remarks};
}

std::vector<ShownMoment> shown_moments(const Timeline& timeline) {
  const SinceOrigin since(timeline.span.start_ns);
  return column(timeline.moments, [&](const Moment& moment) {
    const bool has_length = moment.span.length_ns() > 0;
    return ShownMoment{
        .start_s = since.at(moment.span.start_ns),
        .end_s = has_length ? std::optional(since.at(moment.span.end_ns)) : std::nullopt,
        .node = moment.node,
        .kind = moment.is_evidence ? MomentKind::Evidence : MomentKind::Event,
        .what = moment.what,
        .detail = moment.detail,
        .source = moment.source};
  });
}

std::optional<ShownAccounting> shown_accounting(const Diagnosis& diagnosis,
                                                const std::vector<StepBar>& bars,
                                                std::int64_t origin_ns) {
  if (!diagnosis.accounting) {
    return std::nullopt;
  }
  const auto& totals = diagnosis.accounting->ms;
  ShownAccounting shown{
      .total_ms_per_step = {totals.begin(), totals.end()},
      .steps = {.number = column(bars, [](const StepBar& bar) { return bar.number; }),
                .start_s = column(
                    bars,
                    [&](const StepBar& bar) { return seconds_since(origin_ns, bar.start_ns); }),
                .count = column(bars, [](const StepBar& bar) { return bar.count; })},
      .source =
          "in total as diagnosed; each step has the part of it that was measured in that "
          "step, and sums to its own length"};
  for (std::size_t account = 0; account < kAccounts; ++account) {
    shown.accounts.emplace_back(name_of(Account(account)));
    shown.steps.ms.push_back(column(
        bars, [&](const StepBar& bar) { return rounded_ms(bar.accounting.ms.at(account)); }));
  }
  return shown;
}

ReportDocument document_of(const Report& report) {
  return {
      .run = report.diagnosis.run,
      .accounting = shown_accounting(report.diagnosis, report.bars, report.timeline.span.start_ns),
      .timeline = shown(report.timeline),
      .moments = shown_moments(report.timeline),
      .flows = report.flows.flows,
      .matrix = report.matrix,
      .hosts = report.hosts,
      .paths = report.paths,
      .probes = report.probes.lines,
      .recorded_probes = report.recorded,
      .missing = report.missing};
}

}  // namespace chokepoint::analysis

namespace chokepoint {

void JsonForm<analysis::RoundedNumber>::write(json::Json& at,
                                              const analysis::RoundedNumber& number) {
  const double value = number.value;
  if (!std::isfinite(value)) {
    return;
  }
  if (value == 0) {
    at = 0;
    return;
  }
  const double scale = std::pow(10, 3 - std::floor(std::log10(std::abs(value))));
  const double round = std::round(value * scale) / scale;
  if (std::abs(round) < 1e15 && round == std::floor(round)) {
    at = static_cast<std::int64_t>(round);
  } else {
    at = round;
  }
}

void JsonForm<analysis::ProbeValue>::write(json::Json& at, const analysis::ProbeValue& value) {
  if (const auto* number = std::get_if<double>(&value)) {
    at = *number;
  } else if (const auto* text = std::get_if<std::string>(&value)) {
    at = *text;
  }
}

}  // namespace chokepoint
