// The steps of the job, and the ledger in which those of all sources come together: marks, the
// job's output, its collectives, the period of its traffic. The record keeps all of them with their
// source; readers prefer them in that order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/record/samples.h"
#include "base/record/writer.h"

namespace chokepoint::capture::step {

struct Step {
  std::int64_t start_ns = 0;  // monotonic
  std::int64_t end_ns = 0;
  std::optional<std::int64_t> number = {};  // as the job counts; else counted here
  std::optional<int> rank = {};
  record::StepSource source = record::StepSource::Marks;
  std::optional<std::int64_t> samples = {};  // of training data, in all that are merged
  std::int64_t merged = 1;                   // steps in it, if their borders are not known
  std::optional<std::int64_t> busy_ns = {};  // their own time together; else end_ns − start_ns
};

using OnStep = std::function<void(const Step& step)>;

// What the ledger knows of the best source so far.
struct Figures {
  std::optional<record::StepSource> source = {};
  std::int64_t count = 0;                    // of the rank that has most
  std::optional<double> last_ms = {};        // the newest step
  std::optional<double> median_ms = {};      // of the newest 64
  std::optional<double> samples_per_s = {};  // of this node's ranks together, over the newest 64
  std::int64_t newest_end_ns = 0;            // of all sources
  // How many each rank has ended, of those whose number is known; kMaxShownRanks at most.
  std::vector<std::pair<int, std::int64_t>> ranks = {};
};

inline constexpr std::size_t kMaxShownRanks = 64;

// Writes steps to the record and sums them up for the live line. Bounded memory: a limited number
// of ranks, and of each the newest 64 steps. Any thread.
class Ledger {
 public:
  // `samples_per_step`: of the whole job, for steps that do not report their samples; counted with
  // one rank's steps only. The writer outlives the ledger.
  Ledger(record::Writer& writer, std::optional<std::int64_t> samples_per_step);
  ~Ledger();

  void take(const Step& step);
  Figures figures() const;

 private:
  struct State;
  mutable std::mutex mutex_;
  std::unique_ptr<State> state_;
};

}  // namespace chokepoint::capture::step
