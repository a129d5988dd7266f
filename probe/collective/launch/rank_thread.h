// A rank's work on a thread of its own, so that who waits for it can give up: a library that hangs
// cannot be interrupted. Then thread and all it holds are left behind, and the process has to end.
#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include "probe/collective/rendezvous/member.h"
#include "probe/collective/worker.h"

namespace chokepoint::probe::collective {

// Of a meeting that is over, and nobody said why.
Error without_a_word();

class RankThread {
 public:
  // Joins the meeting, works, and tells the group where it fails.
  RankThread(Job job, MemberOptions options);
  RankThread(const RankThread&) = delete;
  RankThread& operator=(const RankThread&) = delete;
  // Waits for the thread if it is done.
  ~RankThread();

  // Whether it is done by then.
  bool wait_for(std::chrono::nanoseconds wait) const;
  // Whether the meeting is over for this rank: another has failed, or who led it has gone.
  bool is_over() const;

  // Whether it has come into the meeting.
  bool has_met() const;

  // Once it is done. What went wrong; nothing where it did all it was told.
  std::optional<Error> error() const;
  // Whether others have heard of that error, or told it.
  bool is_known() const;
  // Where the meeting is over: whether somebody said why.
  bool has_heard_why() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace chokepoint::probe::collective
