// What follows from the files of other tools together: which rank has not come to a collective in
// which others wait, which one comes last, how long steps take and how much of them is
// communication alone, how the job ended by Slurm's accounts. Does not use a run's record. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/evidence/tool_file.h"

namespace chokepoint::analysis {

struct Claim {
  enum class About : std::uint8_t {
    MissingRank,  // the others wait for it, and it has not come
    Unended,      // it has begun a collective that others have ended
    Cycle,        // ranks wait for each other
    OtherCall,    // it called another collective than the others, or with another size
    NoneMissing,  // all ranks have come as far
    NoneWaits,    // no rank is in a call
    Waits,        // of one group: who waits in it for whom
    LateRank,     // it comes last to collectives
    Step,         // how long one takes
    Unusual,      // of how long steps take: slow ones, or another time from some step on
    Exposed,      // communication that no computing hides, of a step
    JobEnd,       // how it ended
    Failure,      // this rank failed first
    Setup,        // how NCCL connected, where there is a better way
    Benchmark,    // what one of a collective reached
    Measured,     // a figure of it
    Drop,         // a size at which it is much slower than at the one before
    Wrong,        // results that are not what they should be
  };
  enum class Setup : std::uint8_t {
    None,
    Sockets,  // beside RDMA devices
    VirtualInterface,
    OneCard,  // of several
    NoGpuDirect,
    NoPeerToPeer,
    Networks,  // not all ranks by the same
    Versions,
  };
  Tool tool = Tool::Profiler;
  About about = About::Step;
  Setup setup = Setup::None;
  std::string what = {};  // for people
  std::optional<std::int64_t> rank = {};
  std::vector<std::int64_t> ranks = {};  // all of them, where they are more than one
  std::string host = {};                 // of Setup
  std::string interface = {};            // likewise
  std::string collective = {};           // "all_reduce 101"
  std::optional<double> value = {};
  std::string unit = {};
  double step_ms = 0;    // of the same files; 0: they have no steps
  bool is_firm = false;  // no moment of a healthy job looks like this
  // Of the verdict that it gives; a judgement, in claims.cc. 0: none of its own.
  double confidence = 0;
  WallSpan span = {};
  std::string from = {};  // the files
};

// The most important first. Of thousands of missing ranks the first ones are listed, and the
// claim's text has their number.
std::vector<Claim> claims_of(const std::vector<ToolFile>& all);

}  // namespace chokepoint::analysis
