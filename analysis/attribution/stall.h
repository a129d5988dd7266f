// Why a job makes no progress, from what each node saw of its own ranks and connections when its
// limit had passed (base/record/stall.h). A stall counts until an event ends it; a job that ended
// well was in none.
//
//   a node whose record has ended        host-gone
//   a rank that is stopped, or hangs     rank-stopped, rank-blocked-io
//   packets without acknowledgement      path-dead, peer-gone
//   a rank that has ended                rank-gone
//   ranks in different collectives       mismatch
//   a rank that others wait for          rank-busy, rank-missing
//
// In this order, since an earlier row explains the later ones. Where some rank works, there is no
// verdict before the node itself reports a stall.
#pragma once

#include <optional>
#include <string>

#include "analysis/attribution/findings.h"

namespace chokepoint::analysis {

// Why the job makes no progress; nullopt of one that makes some.
std::optional<Verdict> stalled(const RunData& run, const Clocks& clocks);
// Diagnosis::pause; empty where steps end.
std::string pause_of(const RunData& run, const Clocks& clocks);

}  // namespace chokepoint::analysis
