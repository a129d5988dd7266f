// The steps of the job, from whatever tells of them: marks, the job's output, its collectives, the
// period of its traffic. All are kept in the record with their source; readers prefer them in that
// order. This is where they come together, and what the live line reads. Bounded: so many ranks,
// and of each the newest 64 steps. Any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include "base/record/writer.h"
#include "capture/step/step.h"

namespace chokepoint::capture::step {

// Of the best source that tells of steps so far.
struct Figures {
  std::optional<record::StepSource> source = {};
  std::int64_t count = 0;                    // of the rank that has most
  std::optional<double> last_ms = {};        // the newest step
  std::optional<double> median_ms = {};      // of the newest 64
  std::optional<double> samples_per_s = {};  // of this node's ranks together, over the newest 64
};

class Ledger {
 public:
  // `samples_per_step`: of the whole job, where steps do not say it themselves; counted with one
  // rank's steps only. The writer outlives the ledger.
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
