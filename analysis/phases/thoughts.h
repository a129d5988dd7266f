// How long each stage of a pipeline thought between what it received and what it sent, as its
// messages tell it.
#pragma once

#include <vector>

#include "analysis/phases/exchanges.h"

namespace chokepoint::analysis {

// A message sent, and how long its sender thought before: since its last message, or since it had
// received what it needs.
struct StageCompute {
  const Exchange* sent = nullptr;
  double ns = 0;
};

// In the order in which they were sent.
std::vector<StageCompute> thoughts_of(const std::vector<Exchange>& exchanges);

std::vector<const Exchange*> of_kind(const std::vector<Exchange>& exchanges,
                                     record::CollectiveKind kind);

}  // namespace chokepoint::analysis
