#include "capture/step/step.h"

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "base/math/statistics.h"

namespace chokepoint::capture::step {
namespace {

// The newest steps of one source and rank, for the live figures. Fixed memory.
class RecentSteps {
 public:
  static constexpr std::size_t kMaxSteps = 64;

  void take(const Step& step, std::optional<std::int64_t> samples) {
    const auto busy_ns = static_cast<double>(step.busy_ns.value_or(step.end_ns - step.start_ns));
    last_ = {.end_ns = step.end_ns,
             .ms = busy_ns / static_cast<double>(step.merged) / 1e6,
             .busy_s = busy_ns / 1e9,
             .samples = static_cast<double>(samples.value_or(0))};
    ring_[rows_ % kMaxSteps] = last_;
    ++rows_;
    count_ += step.merged;
  }

  std::int64_t count() const { return count_; }
  std::int64_t last_end_ns() const { return last_.end_ns; }
  double last_ms() const { return last_.ms; }

  std::vector<double> durations_ms() const {
    std::vector<double> durations;
    for (std::size_t i = 0; i < held(); ++i) {
      durations.push_back(ring_[i].ms);
    }
    return durations;
  }

  // Over the duration of the steps, without the gaps between them; 0 if no step reports samples.
  double samples_per_s() const {
    double samples = 0;
    double seconds = 0;
    for (std::size_t i = 0; i < held(); ++i) {
      samples += ring_[i].samples;
      seconds += ring_[i].busy_s;
    }
    return seconds > 0 ? samples / seconds : 0;
  }

 private:
  struct Entry {
    std::int64_t end_ns = 0;
    double ms = 0;  // of one of the merged
    double busy_s = 0;
    double samples = 0;
  };

  std::size_t held() const { return std::min(rows_, kMaxSteps); }

  std::array<Entry, kMaxSteps> ring_ = {};
  std::size_t rows_ = 0;
  std::int64_t count_ = 0;
  Entry last_ = {};
};

constexpr std::size_t kMaxLedgerRanks = 1'024;  // of one source; the record still gets all

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
  struct Source {
    std::map<int, RecentSteps> ranks = {};  // -1: not known
    std::optional<int> first_rank = {};
  };

  State(record::Writer& writer, std::optional<std::int64_t> per_step)
      : producer(writer.producer("steps")), samples_per_step(per_step) {}

  record::Producer producer;
  std::optional<std::int64_t> samples_per_step;
  std::map<record::StepSource, Source> sources = {};  // the best first
  std::int64_t newest_end_ns = 0;

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
  state_->newest_end_ns = std::max(state_->newest_end_ns, step.end_ns);
  State::Source& source = state_->sources[step.source];
  const int rank = step.rank.value_or(-1);
  const auto samples = state_->samples_of(step, source.first_rank.value_or(rank));
  source.first_rank = source.first_rank.value_or(rank);
  RecentSteps* recent = nullptr;
  if (source.ranks.contains(rank) || source.ranks.size() < kMaxLedgerRanks) {
    recent = &source.ranks[rank];
    recent->take(step, samples);
  }
  state_->producer.push(row_of(step, step.number.value_or(recent ? recent->count() : 0), samples));
}

Figures Ledger::figures() const {
  const std::lock_guard lock(mutex_);
  if (state_->sources.empty()) {
    return {};
  }
  const auto& [kind, source] = *state_->sources.begin();
  Figures figures{.source = kind};
  std::vector<double> durations;
  std::int64_t newest_ns = 0;
  double samples_per_s = 0;
  for (const auto& [rank, recent] : source.ranks) {
    figures.count = std::max(figures.count, recent.count());
    if (rank >= 0 && figures.ranks.size() < kMaxShownRanks) {
      figures.ranks.emplace_back(rank, recent.count());
    }
    if (!figures.last_ms || recent.last_end_ns() > newest_ns) {
      newest_ns = recent.last_end_ns();
      figures.last_ms = recent.last_ms();
    }
    const std::vector<double> its = recent.durations_ms();
    durations.insert(durations.end(), its.begin(), its.end());
    samples_per_s += recent.samples_per_s();
  }
  figures.median_ms = math::median(durations);
  figures.newest_end_ns = state_->newest_end_ns;
  if (samples_per_s > 0) {
    figures.samples_per_s = samples_per_s;
  }
  return figures;
}

}  // namespace chokepoint::capture::step
