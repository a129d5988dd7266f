// Ranks that a process has started, and those of them that are its child processes. One thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/sys/clock.h"
#include "base/sys/process.h"
#include "probe/collective/launch/placement.h"
#include "probe/collective/rendezvous/hub.h"

namespace chokepoint::probe::collective {

struct ChildEnd {
  int rank = 0;
  sys::ExitStatus status = {};
  std::string words = {};  // the last line of its standard error, if that is kept
};

// "was ended by signal 9", "exited with 1: no such interface"
Error error_of(const ChildEnd& end);
// Reports the end to the hub if nothing else does: a rank that has joined the meeting and exits
// reports why itself, or its connection is missed there.
void report(const ChildEnd& end, Hub& hub);

// The destructor ends them.
class StartedRanks {
 public:
  virtual ~StartedRanks() = default;
  // Reports those that ended with a failure to the hub.
  virtual Result<> report_failed(Hub& hub) = 0;
};

// Ends those that still run with all processes that they started.
class Children final : public StartedRanks {
 public:
  // `keep_words`: read their standard error; else they inherit this process's.
  Children(const sys::Clock& clock, bool keep_words) : clock_(clock), keep_words_(keep_words) {}
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;
  ~Children() override;

  Result<> start(const std::vector<std::string>& command, const RankPlacement& placement,
                 int local_ranks);
  // Those that have ended since the last call.
  Result<std::vector<ChildEnd>> ended();
  Result<> report_failed(Hub& hub) override;

 private:
  struct Child {
    int rank = 0;
    sys::Process process;
    sys::Descriptor words = {};
    std::string text = {};
  };
  static void read_words(Child& child);

  const sys::Clock& clock_;
  bool keep_words_;
  std::vector<Child> children_;
};

}  // namespace chokepoint::probe::collective
