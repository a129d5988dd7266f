#include "analysis/export/perfetto/host_tracks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace chokepoint::analysis {
namespace {

constexpr double kPercent = 100;

// How the growth of a unit is shown.
struct Rate {
  std::string unit;
  double scale = 1;  // from growth a nanosecond
};

Rate rate_of(const std::string& unit) {
  if (unit == "bytes") {
    return {"Mbit/s", kMbpsOfBytesANs};
  }
  if (unit == "ns") {
    return {"%", kPercent};  // of the time: of one core
  }
  return {unit.empty() || unit == "count" ? "1/s" : unit + "/s", kPerSecond};
}

// "nic" of "nic.sent_bytes".
std::string family_of(const record::Series& series) {
  return series.name.substr(0, series.name.find('.'));
}

std::string shown_name(const record::Series& series) {
  if (series.name.empty()) {
    return fmt::format("series {}", series.id);
  }
  return series.subject.empty() ? series.name : fmt::format("{} {}", series.name, series.subject);
}

}  // namespace

HostTracks::HostTracks(ExportedRun& run, Places& places, TraceWriter& trace)
    : places_(places), trace_(trace), watching_(trace, places.host(), "watched") {
  run.each<record::Series>(places.node(),
                           [this](const record::Series& each) { series_.emplace(each.id, each); });
}

const record::Series& HostTracks::series(std::int64_t id) const {
  static const record::Series none = {.name = "unknown series"};
  const auto found = series_.find(id);
  return found == series_.end() ? none : found->second;
}

Track HostTracks::group_of(const std::string& name) {
  const auto [place, is_new] = groups_.try_emplace(name);
  if (is_new) {
    place->second = trace_.track(places_.host(), name);
  }
  return place->second;
}

Growth& HostTracks::growth_of(std::int64_t id) {
  const auto found = growths_.find(id);
  if (found != growths_.end()) {
    return found->second;
  }
  const record::Series& own = series(id);
  const Rate rate = rate_of(own.unit);
  Level level(trace_, group_of(family_of(own)), shown_name(own), rate.unit);
  return growths_.emplace(id, Growth(std::move(level), rate.scale)).first->second;
}

Level& HostTracks::level_of(std::int64_t id) {
  const auto found = levels_.find(id);
  if (found != levels_.end()) {
    return found->second;
  }
  const record::Series& own = series(id);
  return levels_.emplace(id, Level(trace_, group_of(family_of(own)), shown_name(own), own.unit))
      .first->second;
}

void HostTracks::add(const record::CounterSample& sample) {
  if (std::isfinite(sample.value)) {
    growth_of(sample.series).put(places_.wall_ns(sample.t_ns), sample.value);
  }
}

// A share is told at the end of its span, a level from its moment on.
void HostTracks::add(const record::GaugeSample& sample) {
  if (std::isfinite(sample.value)) {
    level_of(sample.series).put(places_.start_wall_ns(sample.t_ns, sample.bin_ns), sample.value);
  }
}

void HostTracks::add(const record::Event& event) {
  Notes notes(trace_);
  notes.add("subject", event.subject).add("detail", event.detail);
  trace_.instant(group_of("events"), places_.wall_ns(event.t_ns), event.kind, {.notes = &notes});
}

void HostTracks::add(const record::Probe& probe) {
  Notes notes(trace_);
  notes.add("peer", probe.peer).add("direction", probe.direction).add("schema", probe.schema);
  trace_.instant(group_of("probes"), places_.wall_ns(probe.t_ns), "probe " + probe.kind,
                 {.notes = &notes});
}

void HostTracks::add(const record::Session& session) {
  Notes notes(trace_);
  notes.add("command", session.command)
      .add("host", session.host)
      .add("kernel", session.kernel)
      .add("chokepoint", session.program);
  if (session.exit_status.known()) {
    notes.add("exit_status", session.exit_status.value());
  }
  // Of a run that is cut, the part: else it would stretch what is shown.
  const Span all = places_.wanted();
  const std::int64_t end_ns = std::min(session.end_ns.value_or(session.seen_ns), all.end_ns);
  watching_.add(places_.wall_ns(std::max(session.start_ns, all.start_ns)), places_.wall_ns(end_ns),
                session.role, {.notes = &notes});
}

void HostTracks::finish() {
  for (auto& [id, growth] : growths_) {
    growth.finish();
  }
}

}  // namespace chokepoint::analysis
