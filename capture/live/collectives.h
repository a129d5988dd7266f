// The totals of the job's collectives so far, for the metrics: sums by kind and communicator, and
// by rank. take() by any thread, with the rows that go into the record; figures() by any.
//
//   row ──▶ by library, kind, communicator: how many, bytes, seconds
//       ──▶ by rank: how long it waited for its neighbours, and they for it
//       ──▶ NCCL's, by number: when each of this node's ranks came, compared with the first of them
//
// Bounded, whatever the rows hold: a communicator or rank beyond the first kMaxCommunicators or
// kMaxRanks is summed up as "other".
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "base/record/samples.h"

namespace chokepoint::capture::live {

struct CollectiveTotal {
  record::CollectiveSource library = record::CollectiveSource::Gloo;
  record::CollectiveKind kind = record::CollectiveKind::Unknown;
  std::string communicator = {};  // its number in the record; "unknown", "other"
  std::uint64_t count = 0;        // each of this node's ranks counts
  double bytes = 0;
  std::uint64_t timed = 0;  // of which is known when they began and ended
  double seconds = 0;       // of these
};

struct RankTotal {
  std::string rank = {};  // its number; "unknown", "other"
  std::uint64_t count = 0;
  std::uint64_t measured = 0;  // of which is known who waited for whom
  double waited_s = 0;         // for the neighbour that came last
  double kept_waiting_s = 0;   // the neighbours, for this rank
  std::uint64_t compared = 0;  // with other ranks of this node
  double late_s = 0;           // in these, behind the first of them
};

struct CollectiveFigures {
  std::vector<CollectiveTotal> collectives = {};
  std::vector<RankTotal> ranks = {};
};

class CollectiveTotals {
 public:
  static constexpr std::size_t kMaxCommunicators = 32;  // of both libraries together
  static constexpr std::size_t kMaxRanks = 64;
  static constexpr std::size_t kMaxOpen = 1'024;  // collectives whose ranks are compared
  // The last rank's row is taken to have come by then.
  static constexpr std::int64_t kSettleNs = 5'000'000'000;

  void take(const record::Collective& row);
  // What is still compared is counted as it is.
  void finish();
  CollectiveFigures figures() const;

 private:
  using Communicator = std::tuple<record::CollectiveSource, std::int64_t>;
  // Of a communicator, by kind and number.
  using Collective = std::tuple<std::int64_t, record::CollectiveKind, std::int64_t>;
  using Comings = std::map<std::int64_t, std::int64_t>;  // when ready, by rank
  struct Opened {
    Collective collective = {};
    std::int64_t ready_ns = 0;  // of the rank whose row came first
  };

  void add_total(const record::Collective& row);
  void add_rank(const record::Collective& row);
  void compare(const record::Collective& row);
  void settle(const Comings& comings);
  RankTotal& rank_of(std::int64_t rank);

  mutable std::mutex mutex_;
  std::map<Communicator, std::string> names_;
  std::map<std::tuple<record::CollectiveSource, std::string, record::CollectiveKind>,
           CollectiveTotal>
      totals_;
  std::map<std::int64_t, RankTotal> ranks_;  // the last is "other"
  std::map<Collective, Comings> open_;
  std::deque<Opened> opened_;  // those of open_, the oldest first
};

}  // namespace chokepoint::capture::live
