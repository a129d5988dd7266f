// Whether flows are alike, or fall into groups, as they do where one member of a bundle (LAG, ECMP,
// bond) is bad: a hash of addresses and ports puts each flow on one member. docs/internals/paths.md
// has the reasons and the measured error rates.
//
// Chance is drawn from a seed that never changes, so the same counts give the same answer. Pure
// functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace chokepoint::probe::paths {

// A finding is one that flows which are alike would show less often than this. There are four tests
// (loss and delay, each way): false alarms in 1 of 250 sweeps.
inline constexpr double kFalseAlarm = 0.001;

struct FlowLoss {
  std::uint64_t sent = 0;
  std::uint64_t lost = 0;
};

// Where a share of flows lies with 95 %, by Wilson's interval.
struct Share {
  double likely = 0;
  double low = 0;
  double high = 1;
};

Share share_of(double flows, std::size_t of);

struct LossSplit {
  double p = 1;  // how often flows that are alike split this clearly, at most
  Share share = {};
  double loss = 0;                        // of the lossy group, 0..1
  double others_loss = 0;                 // of the others
  std::vector<std::size_t> lossy = {};    // flows
  std::vector<std::size_t> unclear = {};  // too few packets to say which group they are in
};

// Nothing where flows do not differ by more than chance. The likelihood of two groups against that
// of one, maximised over all cuts of the flows ordered by their loss; what flows that are alike
// reach is drawn (a parametric bootstrap), because the cut is chosen by the same counts.
std::optional<LossSplit> split_by_loss(std::span<const FlowLoss> flows);

// A member of a bundle as somebody would want to find it.
struct Sought {
  double share = 0;  // of the flows that it takes
  double loss = 0;   // more than the others, 0..1
};

// Whether split_by_loss() would find it with 99 %, among so many flows of so many packets of which
// `background` are lost everywhere. By drawing both.
bool would_find(const Sought& sought, std::size_t flows, std::uint64_t packets, double background);

// The smallest loss of such a member, of 0.1 % to 100 % in steps of 1, 2 and 5, that would be
// found; nothing where none would.
std::optional<double> detectable_loss(double share, std::size_t flows, std::uint64_t packets,
                                      double background);

// A flow's typical delay in two halves of its packets, one independent of the other.
struct FlowDelay {
  double first_ns = 0;
  double second_ns = 0;
  double typical_ns() const { return first_ns / 2 + second_ns / 2; }
};

// Differences below this may be the hosts' own: each flow has a receive queue, and that a
// processor.
inline constexpr double kMinDelayNs = 50e3;

struct DelayGroup {
  double typical_ns = 0;
  double p = 1;  // of the cut to the faster flows; 1 for the fastest group
  std::vector<std::size_t> flows = {};
};

// What a difference must be to count: so much, and so much of the faster group's value.
struct LeastDifference {
  double ns = kMinDelayNs;
  double share = 0;
};

// The fastest group first; one group where all are alike. A cut is chosen by the first halves, and
// holds if the second halves lie apart without exception (one chance in the number of ways to
// choose so many of the flows), and the gap is at least half of the difference. Flows without a
// value are in no group.
std::vector<DelayGroup> group_by_delay(std::span<const std::optional<FlowDelay>> flows,
                                       const LeastDifference& least = {});

}  // namespace chokepoint::probe::paths
