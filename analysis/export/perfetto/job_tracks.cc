#include "analysis/export/perfetto/job_tracks.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/load/code_words.h"

namespace chokepoint::analysis {
namespace {

constexpr double kNsPerMs = 1e6;

void note_ms(Notes& notes, std::string_view name, record::Figure ns) {
  if (ns.known()) {
    notes.add(name, static_cast<double>(ns.value()) / kNsPerMs);
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

// Where rows were folded into one, the moments are lost.
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
