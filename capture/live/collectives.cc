#include "capture/live/collectives.h"

#include <algorithm>
#include <limits>
#include <ranges>

#include "base/math/saturating.h"
#include "base/math/units.h"

namespace chokepoint::capture::live {
namespace {

using record::CollectiveKind;
using record::CollectiveSource;
using record::Figure;

constexpr const char* kOther = "other";
constexpr const char* kUnknown = "unknown";
constexpr std::int64_t kUnknownNumber = -1;
constexpr std::int64_t kOtherNumber = std::numeric_limits<std::int64_t>::max();

// A figure that must not make a counter fall.
double positive(const Figure& figure) {
  return static_cast<double>(std::max<std::int64_t>(figure.value_or(0), 0));
}

double seconds(double ns) { return ns / math::kNsPerSecond; }

// Of untrusted times, whose difference may be more than a whole number holds.
double seconds_between(std::int64_t start_ns, std::int64_t end_ns) {
  return seconds(static_cast<double>(end_ns) - static_cast<double>(start_ns));
}

// NCCL reports when a collective began for a share of the time only; else its row begins when it
// was enqueued.
bool is_timed(const record::Collective& row) {
  return row.end_ns > row.start_ns &&
         (row.source != CollectiveSource::Nccl || row.own_ready_ns.known());
}

}  // namespace

void CollectiveTotals::take(const record::Collective& row) {
  const std::lock_guard lock(mutex_);
  add_total(row);
  add_rank(row);
  compare(row);
}

void CollectiveTotals::add_total(const record::Collective& row) {
  std::string name = kUnknown;
  if (row.communicator.known()) {
    const Communicator key{row.source, row.communicator.value()};
    if (!names_.contains(key) && names_.size() < kMaxCommunicators) {
      names_[key] = std::to_string(row.communicator.value());
    }
    const auto known = names_.find(key);
    name = known == names_.end() ? kOther : known->second;
  }
  CollectiveTotal& total = totals_[{row.source, name, row.kind}];
  if (total.count == 0) {
    total.library = row.source;
    total.kind = row.kind;
    total.communicator = name;
  }
  ++total.count;
  total.bytes += positive(row.bytes);
  if (is_timed(row)) {
    ++total.timed;
    total.seconds += seconds_between(row.start_ns, row.end_ns);
  }
}

void CollectiveTotals::add_rank(const record::Collective& row) {
  RankTotal& rank = rank_of(row.rank.value_or(kUnknownNumber));
  ++rank.count;
  if (row.waited_ns.known() && row.kept_waiting_ns.known()) {
    ++rank.measured;
    rank.waited_s += seconds(positive(row.waited_ns));
    rank.kept_waiting_s += seconds(positive(row.kept_waiting_ns));
  }
}

RankTotal& CollectiveTotals::rank_of(std::int64_t rank) {
  const bool has_room = ranks_.contains(rank) || ranks_.size() < kMaxRanks;
  RankTotal& total = ranks_[has_room ? rank : kOtherNumber];
  if (total.rank.empty()) {
    total.rank = !has_room ? kOther : rank < 0 ? kUnknown : std::to_string(rank);
  }
  return total;
}

// A communicator of NCCL has one number on all of its ranks, and so has each of its collectives;
// messages are of two ranks alone.
void CollectiveTotals::compare(const record::Collective& row) {
  if (row.source != CollectiveSource::Nccl || !row.own_ready_ns.known() || !row.rank.known() ||
      !row.communicator.known() || row.kind == CollectiveKind::Send ||
      row.kind == CollectiveKind::Receive) {
    return;
  }
  const std::int64_t ready_ns = row.own_ready_ns.value();
  const auto [place, is_new] = open_.try_emplace({row.communicator.value(), row.kind, row.number});
  if (is_new) {
    opened_.push_back({place->first, ready_ns});
  }
  if (place->second.size() < kMaxRanks) {
    place->second.emplace(row.rank.value(), ready_ns);
  }
  const auto is_over = [&](const Opened& opened) {
    return open_.size() > kMaxOpen || math::saturated_sum(opened.ready_ns, kSettleNs) < ready_ns;
  };
  while (!opened_.empty() && is_over(opened_.front())) {
    settle(open_.at(opened_.front().collective));
    open_.erase(opened_.front().collective);
    opened_.pop_front();
  }
}

void CollectiveTotals::settle(const Comings& comings) {
  if (comings.size() < 2) {
    return;
  }
  const std::int64_t first_ns = std::ranges::min(comings | std::views::values);
  for (const auto& [rank, ready_ns] : comings) {
    RankTotal& total = rank_of(rank);
    ++total.compared;
    total.late_s += seconds_between(first_ns, ready_ns);
  }
}

void CollectiveTotals::finish() {
  const std::lock_guard lock(mutex_);
  for (const Comings& comings : open_ | std::views::values) {
    settle(comings);
  }
  open_.clear();
  opened_.clear();
}

CollectiveFigures CollectiveTotals::figures() const {
  const std::lock_guard lock(mutex_);
  CollectiveFigures figures;
  for (const CollectiveTotal& total : totals_ | std::views::values) {
    figures.collectives.push_back(total);
  }
  for (const RankTotal& total : ranks_ | std::views::values) {
    figures.ranks.push_back(total);
  }
  return figures;
}

}  // namespace chokepoint::capture::live
