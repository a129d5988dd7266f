// Ranks as child processes of this one. Owns them: what still runs when it goes is ended, with all
// that it started. One thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/sys/clock.h"
#include "base/sys/process.h"
#include "probe/collective/launch/seat.h"
#include "probe/collective/rendezvous/hub.h"

namespace chokepoint::probe::collective {

struct ChildEnd {
  int rank = 0;
  sys::ExitStatus status = {};
  std::string words = {};  // the last line of what it wrote to standard error, where that is kept
};

// "was ended by signal 9", "exited with 1: no such interface"
Error error_of(const ChildEnd& end);
// Tells the hub, where nobody else will: a rank that has come into the meeting and ends by itself
// says why, or is missed there.
void tell(const ChildEnd& end, Hub& hub);

class Children {
 public:
  // `keep_words`: standard error is read here, else it is this process's.
  Children(const sys::Clock& clock, bool keep_words) : clock_(clock), keep_words_(keep_words) {}
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;
  ~Children();

  Result<> start(const std::vector<std::string>& command, const RankPlacement& seat,
                 int local_ranks);
  // Those that have ended since the last look.
  Result<std::vector<ChildEnd>> ended();

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
