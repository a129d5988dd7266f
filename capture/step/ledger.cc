#include "capture/step/ledger.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "base/math/statistics.h"
#include "capture/step/recent_steps.h"

namespace chokepoint::capture::step {
namespace {

constexpr std::size_t kMostToldRanks = 1'024;  // of one source; the record still gets all

bool is_sound(const Step& step) { return step.end_ns > step.start_ns && step.merged > 0; }

record::Step row_of(const Step& step, std::int64_t number, std::optional<std::int64_t> samples) {
  record::Step row{.start_ns = step.start_ns,
                   .end_ns = step.end_ns,
                   .merged = step.merged,
                   .number = number,
                   .source = step.source};
  if (step.rank) {
    row.rank = *step.rank;
  }
  if (samples) {
    row.samples = *samples;
  }
  if (step.busy_ns) {
    row.busy_ns = *step.busy_ns;
  }
  if (step.merged == 1) {
    row.longest_ns = step.busy_ns.value_or(step.end_ns - step.start_ns);
  }
  return row;
}

}  // namespace

struct Ledger::State {
  struct Told {
    std::map<int, RecentSteps> ranks = {};  // -1: not known
    std::optional<int> first_rank = {};
  };

  State(record::Writer& writer, std::optional<std::int64_t> per_step)
      : producer(writer.producer("steps")), samples_per_step(per_step) {}

  record::Producer producer;
  std::optional<std::int64_t> samples_per_step;
  std::map<record::StepSource, Told> sources = {};  // the best first

  std::optional<std::int64_t> samples_of(const Step& step, int first_rank) const {
    const bool is_first = step.rank.value_or(-1) == first_rank;
    return step.samples || !samples_per_step || !is_first
               ? step.samples
               : std::optional(*samples_per_step * step.merged);
  }
};

Ledger::Ledger(record::Writer& writer, std::optional<std::int64_t> samples_per_step)
    : state_(std::make_unique<State>(writer, samples_per_step)) {}

Ledger::~Ledger() = default;

void Ledger::take(const Step& step) {
  if (!is_sound(step)) {
    return;
  }
  const std::lock_guard lock(mutex_);
  State::Told& told = state_->sources[step.source];
  const int rank = step.rank.value_or(-1);
  const auto samples = state_->samples_of(step, told.first_rank.value_or(rank));
  told.first_rank = told.first_rank.value_or(rank);
  RecentSteps* recent = nullptr;
  if (told.ranks.contains(rank) || told.ranks.size() < kMostToldRanks) {
    recent = &told.ranks[rank];
    recent->take(step, samples);
  }
  state_->producer.push(row_of(step, step.number.value_or(recent ? recent->count() : 0), samples));
}

Figures Ledger::figures() const {
  const std::lock_guard lock(mutex_);
  if (state_->sources.empty()) {
    return {};
  }
  const auto& [source, told] = *state_->sources.begin();
  Figures figures{.source = source};
  std::vector<double> durations;
  std::int64_t newest_ns = 0;
  double samples_per_s = 0;
  for (const auto& [rank, recent] : told.ranks) {
    figures.count = std::max(figures.count, recent.count());
    if (!figures.last_ms || recent.last_end_ns() > newest_ns) {
      newest_ns = recent.last_end_ns();
      figures.last_ms = recent.last_ms();
    }
    const std::vector<double> its = recent.durations_ms();
    durations.insert(durations.end(), its.begin(), its.end());
    samples_per_s += recent.samples_per_s();
  }
  figures.median_ms = math::median(durations);
  if (samples_per_s > 0) {
    figures.samples_per_s = samples_per_s;
  }
  return figures;
}

}  // namespace chokepoint::capture::step
