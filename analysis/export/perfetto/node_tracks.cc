#include "analysis/export/perfetto/node_tracks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/phases/meetings.h"
#include "base/math/units.h"

namespace chokepoint::analysis {
namespace {

// The unit and scale in which the growth of a counter is shown.
struct Rate {
  std::string unit;
  double scale = 1;  // from growth per nanosecond
};

Rate rate_of(const std::string& unit) {
  if (unit == "bytes") {
    return {"Mbit/s", kMbpsOfBytesPerNs};
  }
  if (unit == "ns") {
    return {"%", math::kPercent};  // of the time: of one core
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

void note_ms(Notes& notes, std::string_view name, record::Figure ns) {
  if (ns.known()) {
    notes.add(name, static_cast<double>(ns.value()) / math::kNsPerMs);
  }
}

void note(Notes& notes, std::string_view name, record::Figure value) {
  if (value.known()) {
    notes.add(name, value.value());
  }
}

std::string word_or_code(record::CollectiveKind kind) {
  const std::string_view word = word_of(kind);
  return word.empty() ? fmt::format("kind {}", static_cast<std::int64_t>(kind)) : std::string(word);
}

void note_nccl(Notes& notes, const record::Collective& row) {
  if (row.source != record::CollectiveSource::Nccl) {
    return;
  }
  notes.add("algorithm", word_of(row.algorithm)).add("protocol", word_of(row.protocol));
  note(notes, "channels", row.channels);
  note(notes, "peer", row.peer);
  note_ms(notes, "gpu_wait_ms", row.gpu_wait_ns);
  note_ms(notes, "network_wait_ms", row.network_wait_ns);
  note_ms(notes, "peer_wait_ms", row.peer_wait_ns);
  note_ms(notes, "flush_wait_ms", row.flush_wait_ns);
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

// A mean over a span holds from the start of the span, a momentary level from its moment on.
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
  // Cut to the exported span, which the viewer would otherwise stretch.
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

Links::Links(const ExportedRun& run) : links_(run.nodes()) {
  const Exchanges exchanges = exchanges_of(run.data(), run.clock().clocks());
  std::uint64_t link = 0;
  for (const Meeting& meeting : meetings_of(exchanges)) {
    if (meeting.size() < 2) {
      continue;
    }
    ++link;
    for (const Part part : meeting) {
      const Exchange& own = at(exchanges, part);
      links_[own.node].emplace(Key{own.kind, own.number, own.communicator, own.own_ready_ns}, link);
    }
  }
}

std::optional<std::uint64_t> Links::of(const ExportedRun& run, std::size_t node,
                                       const record::Collective& row) const {
  const std::int64_t ready_ns = row.own_ready_ns.value_or(row.first_data_ns.value_or(row.start_ns));
  const auto found = links_[node].find({row.kind, number_of(row), row.communicator.value_or(0),
                                        run.clock().clocks().common_ns(node, ready_ns)});
  return found == links_[node].end() ? std::nullopt : std::optional(found->second);
}

Lanes& JobTracks::lanes(Track process, const std::string& name) {
  const auto found = lanes_.find({process, name});
  return found != lanes_.end()
             ? found->second
             : lanes_.emplace(std::pair(process, name), Lanes(trace_, process, name)).first->second;
}

void JobTracks::add(const record::Step& step) {
  Notes notes(trace_);
  notes.add("number", step.number);
  note(notes, "samples", step.samples);
  note_ms(notes, "longest_ms", step.longest_ns);
  if (step.merged > 1) {
    notes.add("steps", step.merged);
  }
  const std::string name = step.merged > 1 ? fmt::format("{} steps to {}", step.merged, step.number)
                                           : fmt::format("step {}", step.number);
  const std::string row = fmt::format("steps from {}", word_of(step.source));
  left_out_ += lanes(places_.of_rank(step.rank), row)
                       .add(places_.wall_ns(step.start_ns), places_.wall_ns(step.end_ns), name,
                            {.notes = &notes, .is_common_name = false})
                   ? 0
                   : 1;
}

Track JobTracks::process_of(const record::Collective& collective) {
  return collective.rank.known() ? places_.of_rank(collective.rank)
                                 : places_.of_flow(collective.flow.value_or(-1));
}

void JobTracks::add(const record::Collective& row) {
  const Track process = process_of(row);
  const std::string peer = places_.peer_of(row.flow.value_or(-1));
  Notes notes(trace_);
  notes.add("number", row.number).add("source", word_of(row.source));
  note(notes, "bytes", row.bytes);
  note(notes, "communicator", row.communicator);
  note_ms(notes, "waited_ms", row.waited_ns);
  note_ms(notes, "kept_waiting_ms", row.kept_waiting_ns);
  note_nccl(notes, row);
  if (!peer.empty()) {
    notes.add("last_to_come", peer);
  }
  if (row.merged > 1) {
    notes.add("collectives", row.merged);
  }
  const bool is_message =
      row.kind == record::CollectiveKind::Send || row.kind == record::CollectiveKind::Receive;
  const bool has_room =
      lanes(process, is_message ? "messages" : "collectives")
          .add(places_.wall_ns(row.start_ns), places_.wall_ns(row.end_ns), word_or_code(row.kind),
               {.notes = &notes, .link = links_.of(run_, places_.node(), row)});
  left_out_ += has_room ? 0 : 1;
  add_waiting(process, row, peer);
}

// A row that was folded from several has lost their moments.
void JobTracks::add_waiting(Track process, const record::Collective& row, const std::string& peer) {
  if (row.merged > 1 || !row.own_ready_ns.known() || row.waited_ns.value_or(0) <= 0) {
    return;
  }
  Notes notes(trace_);
  notes.add("number", row.number).add("for", word_or_code(row.kind));
  const std::int64_t start_ns = places_.wall_ns(row.own_ready_ns.value());
  const std::int64_t end_ns = start_ns + std::min(row.waited_ns.value(), kFarNs);
  const std::string name = peer.empty() ? "waiting" : "waiting for " + peer;
  left_out_ += lanes(process, "waiting").add(start_ns, end_ns, name, {.notes = &notes}) ? 0 : 1;
}

}  // namespace chokepoint::analysis
