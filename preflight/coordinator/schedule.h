// The plan of a preflight between a given number of hosts, and the time that it will take: known
// before it starts. Values; no I/O.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "preflight/task/measured.h"

namespace chokepoint::preflight::coordinator {

using Pair = std::pair<HostIndex, HostIndex>;  // the lesser one first
using Round = std::vector<Pair>;

// Which hosts form pairs, round by round: the round-robin tournament by the circle method. All
// hosts but one stand on a circle that turns by one place a round, and opposite hosts are a pair;
// so in a round no host is in two pairs, and after all rounds every pair was tested once. With an
// odd number one host is left out in each round, another one each time.
//
//   round 0:  0 1 2        round 1:  0 5 1       the last one (5 of 0…5) stands still,
//             5 4 3                  4 3 2       the others walk round it
//
// A round is computed on demand: between 4,096 hosts there are 8 million pairs.
class Tournament {
 public:
  explicit Tournament(std::size_t hosts) : hosts_(hosts) {}

  // One less than there are hosts, or as many where their number is odd; none below two.
  std::size_t rounds() const;
  std::size_t pairs() const { return hosts_ < 2 ? 0 : hosts_ * (hosts_ - 1) / 2; }
  Round round(std::size_t number) const;

 private:
  std::size_t hosts_;
};

// A cut through the cluster: two groups of hosts that send to each other all at once, which shows
// the rate that the groups share.
struct Cut {
  std::vector<HostIndex> left = {};
  std::vector<HostIndex> right = {};
};

// The first half of the hosts and the second: racks mostly stand in the order of names. With an odd
// number the right one is larger.
Cut halves(const std::vector<HostIndex>& hosts);

// Each host of the smaller group with one of the other; with `known` ones where that is possible,
// as what they reach alone need not be measured then.
Round across(const Cut& cut, const std::function<bool(const Pair&)>& known);

using Milliseconds = std::chrono::milliseconds;

// How thoroughly a preflight tests: which tests, how long each, in how many rounds.
struct Effort {
  std::string name = {};        // "quick", "default", "thorough"
  std::size_t most_rounds = 0;  // more than that: a sample of this many; 0: whatever it takes
  std::size_t path_rounds = 0;  // of these, in how many the path is looked at; 0: in all
  // Ways that are tested again, alone: each another flow, which a switch's hash sends elsewhere.
  // With a slow link among U equal ones up from a leaf, n of them meet it with 1 - (1 - 1/U)^n.
  std::size_t most_suspects = 0;
  // Pairs between which many flows are compared, because one of them may have met a bad member of
  // parallel links.
  std::size_t most_bundles = 0;
  Milliseconds latency{0};
  Milliseconds loss{0};
  Milliseconds tcp{0};
  Milliseconds again{0};
  Milliseconds flows{0};  // of a pair, by small packets
  Milliseconds rates{0};  // of a pair, by TCP
  Milliseconds cut{0};
  Milliseconds rdma{0};
  Milliseconds collective{0};
  std::int64_t collective_bytes = 0;
};

// "quick" (below a minute for 16 hosts, whatever their number then), "default" (minutes for 16),
// "thorough" (all pairs, whatever it takes). Nothing where there is none of that name.
std::optional<Effort> effort_named(std::string_view name);

// Some rounds of a tournament, if all of them would take too long; no pair comes twice. Each round
// is a random perfect matching: rounds chosen at random, of a tournament between hosts in a random
// order. Every host is in every round (left out of at most one if their number is odd), so that a
// bad port, cable or host is tested in each of them. The same seed makes the same plan on every
// machine.
class Sample {
 public:
  // As many rounds as the tournament has where more are asked for.
  Sample(std::size_t hosts, std::size_t rounds, std::uint64_t seed);

  std::size_t rounds() const { return chosen_.size(); }
  Round round(std::size_t number) const;

 private:
  Tournament tournament_;
  std::vector<HostIndex> order_;
  std::vector<std::size_t> chosen_;
};

struct Schedule {
  Effort effort = {};
  std::size_t hosts = 0;
  std::size_t rounds = 0;
  std::size_t all_rounds = 0;  // of a whole tournament
  std::uint64_t seed = 0;

  bool is_sampled() const { return rounds < all_rounds; }
  std::size_t pairs() const;
  std::size_t path_rounds() const;
  Round round(std::size_t number) const;
};

// With a `limit` other than zero: with as many rounds as fit into it, but one.
Schedule schedule(const Effort& effort, std::size_t hosts, std::uint64_t seed, Milliseconds limit);

// What a task takes beside its own time: a process at the agent, a connection, an answer.
inline constexpr Milliseconds kTaskCost{100};

Milliseconds quiet_round_time(const Effort& effort, bool with_path);
Milliseconds bulk_round_time(const Effort& effort);
// Of what comes before the rounds and after them; suspects are not foreseen.
Milliseconds greeting_time(const Effort& effort);
Milliseconds ending_time(const Effort& effort);
Milliseconds estimate(const Schedule& schedule);

// "40 s", "7 min": it is not known to the second.
std::string rough(Milliseconds time);

// "16 hosts, 120 pairs, about 40 s"; of a sample "4096 hosts, 30,720 of 8,386,560 pairs, …".
std::string describe(const Schedule& schedule);

}  // namespace chokepoint::preflight::coordinator
