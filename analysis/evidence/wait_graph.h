// Which rank waits for which in a job without progress, by the calls that each rank has made,
// begun and ended in each process group, and which rank is the cause: only one of many waits,
// which look alike in their groups.
//
//   rank 0 ─ waits in a message for ─> rank 8 ─ waits in all_to_all 45265 for ─> rank 9
//                                                                     (waits for nobody)
//
// A rank waits for another in its first open call of a group, where that one
//   - has not come to the call,
//   - has come to it and has not ended what others of the group have ended (its GPU, its path), or
//   - is in another call that it waits in itself.
// The reason are the ranks that wait for nobody while others wait for them; or ranks that wait for
// each other; or a call that ranks entered as different ones; or one that all have begun and none
// has ended. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "analysis/evidence/tool_file.h"

namespace chokepoint::analysis {

struct RankState {
  std::int64_t rank = 0;
  const std::map<std::string, GroupState>* groups = nullptr;
  bool leaves_sequence = false;
};

struct WaitReason {
  enum class Kind : std::uint8_t {
    Nobody,       // no call is open
    Missing,      // ranks have not come to a call
    WithoutDump,  // ranks that left no dump, and all others are in their calls
    Unended,      // ranks have not ended a call that others have
    Hung,         // all have begun a call, and none has ended it
    Cycle,        // ranks wait for each other
    Mismatch,     // ranks called different things as the same call
  };
  Kind kind = Kind::Nobody;
  std::vector<std::int64_t> ranks = {};  // that are the reason; of Hung those that are in the call
  std::string call = {};                 // "all_reduce 101"
  std::size_t waiting = 0;               // other ranks
  std::size_t through_others = 0;        // of these, for a rank that waits itself
  std::vector<std::int64_t> without_dump = {};
  std::string sentence = {};             // for people
  std::vector<std::string> groups = {};  // a line each, of those in which ranks wait
};

WaitReason reason_of(const std::vector<RankState>& ranks);

// "ranks 3, 5 and 8"; of many the first ones and how many more.
std::string ranks_text(const std::vector<std::int64_t>& ranks);

}  // namespace chokepoint::analysis
