// Whether flows lose alike, or some more than the others, as they do where one member of a bundle
// (LAG, ECMP, bond) is bad: a hash of addresses and ports puts each flow on one member.
// docs/internals/paths.md has the reasons and the measured error rates.
//
// Chance is drawn from a seed that never changes, so the same counts give the same answer. Pure
// functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/math/groups.h"

namespace chokepoint::math {

struct FlowLoss {
  std::uint64_t sent = 0;
  std::uint64_t lost = 0;
};

struct LossSplit {
  double p = 1;  // how often flows that are alike are split as clearly, at most
  Share share = {};
  double loss = 0;                        // of the lossy group, 0..1
  double others_loss = 0;                 // of the others
  std::vector<std::size_t> lossy = {};    // flows
  std::vector<std::size_t> unclear = {};  // too few packets to assign them to a group
};

// Nothing where flows do not differ by more than chance. The likelihood of two groups against that
// of one, maximised over all cuts of the flows ordered by their loss; what flows that are alike
// reach is drawn (a parametric bootstrap), because the cut is chosen by the same counts.
std::optional<LossSplit> split_by_loss(std::span<const FlowLoss> flows);

// A member of a bundle that a test is to detect.
struct Sought {
  double share = 0;  // of the flows that it takes
  double loss = 0;   // more than the others, 0..1
};

// Whether split_by_loss() would find it with 99 %, among so many flows of so many packets of which
// the share `background` is lost everywhere. By drawing such flows, and flows that are alike.
bool would_find(const Sought& sought, std::size_t flows, std::uint64_t packets, double background);

// The smallest loss of such a member, of 0.1 % to 100 % in steps of 1, 2 and 5, that would be
// found; nothing where none would.
std::optional<double> detectable_loss(double share, std::size_t flows, std::uint64_t packets,
                                      double background);

}  // namespace chokepoint::math
