#include "capture/step/tagged_calls.h"

namespace chokepoint::capture::step {
namespace {

constexpr std::size_t kMaxRanks = 1'024;
constexpr std::size_t kMinInARow = 16;
// NCCL keeps tags with the highest bit for itself.
constexpr std::uint64_t kReserved = std::uint64_t{1} << 63U;
constexpr std::int64_t kNoRank = -1;

}  // namespace

void TaggedSteps::take(const TaggedCall& call, const OnStep& on_step) {
  if (call.tag == 0 || (call.tag & kReserved) != 0) {
    return;
  }
  const std::int64_t key = call.rank.value_or(kNoRank);
  if (ranks_.size() >= kMaxRanks && !ranks_.contains(key)) {
    return;
  }
  Rank& rank = ranks_[key];
  const bool is_late = call.tag + 1 == rank.tag || call.t_ns < rank.start_ns;
  if (!rank.is_counter || call.tag == rank.tag || is_late) {
    return;
  }
  if (rank.tag != 0 && call.tag != rank.tag + 1) {
    // A jump ahead, as after a checkpoint was loaded, begins anew; a fall is no counter's.
    rank.is_counter = call.tag > rank.tag;
    rank.is_proven = false;
    rank.held.clear();
  } else if (rank.tag != 0) {
    rank.held.push_back(
        {.start_ns = rank.start_ns,
         .end_ns = call.t_ns,
         .number = static_cast<std::int64_t>(rank.tag),
         .rank = call.rank ? std::optional(static_cast<int>(*call.rank)) : std::nullopt,
         .source = record::StepSource::Marks});
    rank.is_proven = rank.is_proven || rank.held.size() >= kMinInARow;
  }
  rank.tag = call.tag;
  rank.start_ns = call.t_ns;
  if (rank.is_proven) {
    for (const Step& step : rank.held) {
      on_step(step);
    }
    rank.held.clear();
  }
}

}  // namespace chokepoint::capture::step
