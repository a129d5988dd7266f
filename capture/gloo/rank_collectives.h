// Joins what each connection shows of a collective to the collective of a rank. A host may have
// several ranks; each has its own connections to its neighbours, some over interfaces, some over
// loopback, and each interface is read by a process of its own.
//
//   tap eth0 ── part: flow 7, end a ──┐ owner of that socket ─▶ rank 3 ─┐
//   tap lo   ── part: flow 9, end b ──┘                                 ├─▶ rank 3, all-reduce 17
//                                       same kind, number and group ────┘
//
// Which process group a connection is of is not in the packets. Two connections of a rank are taken
// to be of one if both have a part in a collective of one kind and number at one time, which for a
// ring begins at one moment; from then on they are. Two groups whose collectives of one number
// always begin together are one, too, also where one interface's part comes when the other's has
// been emitted already: from then on as many parts as both had are waited for. The row's
// communicator is a number of the group, as this rank counts them.
//
// The rows are what chokepoint run records. take() by any thread; settle() and finish() by one.
// Bounded: kMaxOpen, also of those emitted.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <tuple>
#include <vector>

#include "base/record/samples.h"

namespace chokepoint::capture::gloo {

// A collective as one end of a connection saw it.
struct CollectivePart {
  record::Collective row = {};  // its flow is the connection's; its communicator is not used
  std::int64_t end = 0;         // of the flow: 0: a, 1: b
  std::int64_t process = 0;     // that has this end, record::Process::id; 0: not known
};

struct RankedProcess {
  std::int64_t process = 0;  // record::Process::id
  std::int64_t rank = 0;
};

// When a process has come to a collective: of one that is several ranks of a host, once the last
// has.
enum class Coming : std::uint8_t { First, Last };

class RankCollectives {
 public:
  using Emit = std::function<void(const record::Collective& row)>;

  static constexpr std::size_t kMaxOpen = 1'024;

  explicit RankCollectives(Emit emit, Coming coming = Coming::First)
      : emit_(std::move(emit)), coming_(coming) {}

  void take(const CollectivePart& part, std::int64_t now_ns);
  // Emits those of which no more parts are expected.
  void settle(const std::vector<RankedProcess>& processes, std::int64_t now_ns);
  // Emits all.
  void finish();

 private:
  using FlowEnd = std::tuple<std::int64_t, std::int64_t, std::int64_t>;  // process, flow, end
  // process, group, kind
  using Usual = std::tuple<std::int64_t, std::int64_t, record::CollectiveKind>;

  struct Open {
    std::int64_t process = 0;
    std::int64_t group = 0;
    std::vector<CollectivePart> parts = {};
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;
    std::int64_t taken_ns = 0;  // the last part
  };

  // Emitted a short time ago.
  struct Past {
    std::int64_t process = 0;
    std::int64_t group = 0;
    record::Collective first_part = {};
    std::size_t parts = 0;
    std::int64_t emitted_ns = 0;
  };

  bool can_be_of(const Open& open, const CollectivePart& part) const;
  Open* find(const CollectivePart& part, std::optional<std::int64_t> group);
  void unite_if_one(const CollectivePart& part, std::int64_t& group);
  std::optional<std::int64_t> other_group_of(const CollectivePart& part, std::int64_t group) const;
  void unite(std::int64_t process, std::int64_t low, std::int64_t high);
  void remember(const Open& open, std::int64_t now_ns);
  void wait_for_more(const CollectivePart& part, std::int64_t group);
  std::int64_t new_group(std::int64_t process);
  bool is_due(const Open& open, std::int64_t now_ns) const;
  bool has_successor(const Open& open) const;
  void emit(const Open& open);
  std::optional<std::int64_t> rank_of(std::int64_t process) const;

  Emit emit_;
  Coming coming_;
  std::mutex mutex_;
  std::deque<Open> open_;  // the newest last
  std::deque<Past> past_;  // likewise
  std::map<FlowEnd, std::int64_t> groups_;
  std::map<std::int64_t, std::int64_t> group_counts_;  // by process
  std::map<Usual, std::size_t> usual_parts_;
  // How often collectives of two groups of a process began together, the lower number first.
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, int> together_;
  std::map<std::int64_t, std::int64_t> ranks_;  // by process, also of those that have ended
};

// The collective of which these are the parts. What each of them does not know of its neighbour
// makes the time of the last neighbour unknown, unless data moved there before.
record::Collective joined(const std::vector<CollectivePart>& parts, Coming coming = Coming::First);

}  // namespace chokepoint::capture::gloo
