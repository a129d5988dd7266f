// The steps of a run on one clock: from the best source that any node has, those of one rank. Pure;
// any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "analysis/load/run_data.h"
#include "analysis/phases/rounds.h"
#include "analysis/timeline/clocks.h"
#include "analysis/timeline/spans.h"

namespace chokepoint::analysis {

struct StepLine {
  std::optional<record::StepSource> source = {};
  std::vector<Span> all = {};  // every step, one that stands for several cut into as many
  // Without the first ones, in which connections are made, and those of which no samples were read,
  // not all is written yet, or NCCL did not report who arrived when.
  std::vector<Span> settled = {};
  // Where the job exchanges in every so many steps only. The settled steps are then whole rounds:
  // from the end of one exchange to the end of a later one.
  std::optional<SyncRounds> rounds = {};
};

// How many lie between the first of them and the last, with those of which no samples were read.
double count_between(std::span<const Span> settled);

// By settled step: whether the step just before it is settled, too.
std::vector<bool> follows_settled(const StepLine& steps);

StepLine choose_steps(const RunData& run, const Clocks& clocks);

// Until when a record that has no end is complete: its newest steps are written before what was
// exchanged in them, which is written when it is surely over. Without this such a step would look
// like computing alone. On the common clock; INT64_MAX if every node's watching ended.
std::int64_t known_until_ns(const RunData& run, const Clocks& clocks);

// When collectives went on of which some rank's arrival is not known; on the common clock, united.
// To save the job's time NCCL's plugin reports arrivals in windows only; between these a collective
// may have begun at any time since it was enqueued. Collectives of a kind of which no arrival is
// ever reported do not count: of those inside a host NCCL may report only that they were enqueued.
Spans unreported_arrivals(const RunData& run, const Clocks& clocks);

}  // namespace chokepoint::analysis
