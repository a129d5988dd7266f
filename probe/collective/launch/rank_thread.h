// A rank's work on a thread of its own, so that its caller can stop waiting: a library that hangs
// cannot be interrupted. Then the thread and all that it owns remain, and the process has to end.
// All calls from the one thread that made it.
#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include "probe/collective/rendezvous/member.h"
#include "probe/collective/worker.h"

namespace chokepoint::probe::collective {

// Of a meeting that ended without a reported reason.
Error leader_vanished();

struct RankEnd {
  std::optional<Error> error = {};  // nullopt: all orders were carried out
  bool is_reported = false;         // by the group itself
};

class RankThread {
 public:
  // Joins the meeting, works, and reports a failure to the group.
  RankThread(Job job, MemberOptions options);
  RankThread(const RankThread&) = delete;
  RankThread& operator=(const RankThread&) = delete;
  // Joins the thread if it is done.
  ~RankThread();

  // nullopt: it is not done by then.
  std::optional<RankEnd> wait_for(std::chrono::nanoseconds wait) const;
  // Whether the meeting is over for this rank: another one has failed, or the leader has gone.
  bool is_over() const;

  // Whether it has joined the meeting.
  bool has_met() const;

  // Once the meeting is over: whether its reason was reported.
  bool has_reason() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace chokepoint::probe::collective
