// Where the time of a step went, before causes are attributed:
//
//   step = computing + waiting for a late rank + communication that computing did not hide
//
// From the library's own messages if the record has them, else from when the job's connections had
// something under way. Pure; any thread.
#pragma once

#include "analysis/phases/exchanges.h"
#include "analysis/phases/lateness.h"
#include "analysis/phases/steps.h"
#include "analysis/timeline/spans.h"

namespace chokepoint::analysis {

// Alone: the job exchanges data with no other host or rank, so all its time is computing.
enum class PhaseSource { None, Alone, Library, Sockets, Packets };

// Milliseconds a step that others waited for it.
struct RankLateness {
  std::size_t node = 0;
  std::int64_t rank = -1;  // -1: not known
  double late_ms = 0;
  // Ranks of the same node that arrived about as late, in an unknown order: they exchange inside
  // the host, and NCCL's kernel events were not recorded. late_ms is of all of them together.
  std::vector<std::int64_t> similar = {};
};

// Time of exchanges in which all ranks whose arrival is reported had arrived, and nothing was sent:
// they waited for a rank whose arrival is not reported, or for data inside a host.
struct UnattributedWait {
  double ms = 0;                         // a step, beyond all lateness that is reported
  std::vector<std::int64_t> ranks = {};  // whose arrival at these exchanges is not reported
};

// Milliseconds a step, of the settled steps.
struct Phases {
  PhaseSource source = PhaseSource::None;
  double step_ms = 0;
  double computing_ms = 0;  // and whatever else is not communication
  double exposed_ms = 0;    // of the communication; hidden_ms is in computing_ms
  double hidden_ms = 0;
  double exchange_work_ms = 0;       // that no better path takes away; see overlap.h
  bool by_messages = false;          // most bytes went by send() and receive(), not by collectives
  std::vector<double> late_ms = {};  // lost by each node's lateness
  std::vector<RankLateness> ranks = {};  // the same by rank, of all that are known to take part
  std::vector<Late> late = {};           // each time that a rank was waited for
  Spans communicating = {};              // within the steps, hidden or not
  Worked worked = {};                    // by node, see exchanges.h
  UnattributedWait unattributed = {};    // none of it in the figures above but step_ms
  double waiting_ms() const;
};

Phases phases_of(const RunData& run, const Clocks& clocks, const StepLine& steps);

}  // namespace chokepoint::analysis
