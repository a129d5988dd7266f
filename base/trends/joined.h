// Many findings with one cause, said once: six paths from one host are that host's NIC, all hosts
// at once are the fabric or a change made everywhere. Findings are joined that have a time and a
// direction in common and whose subjects share a place. Pure functions.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/history/row.h"
#include "base/trends/which_fact.h"

namespace chokepoint::trends {

using history::Subject;
using history::SubjectKind;

struct ChangeFinding {
  Subject subject;
  std::string metric;
  bool is_worse = true;
  TimeBetween time;
  double relative = 0;
};

// A figure of a subject that could have a finding of that time: it was measured often enough before
// and since.
struct WatchedFigure {
  Subject subject;
  std::string metric;
  TimeBetween time;
};

enum class SharedPlace {
  One,         // a single subject
  FromHost,    // paths that begin at a host
  ToHost,      // paths that end at it
  OnHost,      // whatever is on the host, paths both ways
  Everywhere,  // subjects of one kind, on all hosts
};

struct JoinedFindings {
  SharedPlace place = SharedPlace::One;
  SubjectKind kind = SubjectKind::Host;  // of the subjects; with OnHost: of the first
  std::string host;                      // with FromHost, ToHost and OnHost
  bool is_worse = true;
  TimeBetween time;                   // what all have in common
  std::vector<std::size_t> findings;  // indexes; several of one subject are several metrics
  std::size_t affected = 0;           // subjects in this place with a finding
  std::size_t watched = 0;  // subjects in this place that could have one of the same figures
  std::size_t elsewhere =
      0;  // other subjects of these kinds with a finding of that time and direction
};

// `watched` is all that could have a finding. Each finding is in one group; groups with the most
// findings come first.
std::vector<JoinedFindings> join_findings(std::span<const ChangeFinding> findings,
                                          std::span<const WatchedFigure> watched);

// "6 of 6 paths from gpu3, none elsewhere"; of a single subject its name.
std::string sentence_of(const JoinedFindings& joined, std::span<const ChangeFinding> findings);

}  // namespace chokepoint::trends
