// Passes signals that came to chokepoint on to the job, each as often and to as many of its
// processes as if the job had been started in chokepoint's place. A witness in each of the two
// process groups shows whom a sender has signalled; held_signals.h decides by that.
//
//   sender ─┬─▶ chokepoint ── pass_on() ──▶ held ── 200 ms, witnesses reply ──▶ kill(job)
//           ├─▶ witness in chokepoint's group ──▲
//           ├─▶ witness in the job's group ─────┘
//           └─▶ the job
//
// If a witness cannot be started or is killed, a signal that reached all processes is passed on
// all the same, to the job's whole group. Owned by a Job; one thread.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/sys/clock.h"
#include "base/sys/descriptor.h"
#include "base/sys/signals.h"
#include "capture/job/held_signals.h"
#include "capture/job/witness.h"

namespace chokepoint::capture::job {

class SignalDelivery {
 public:
  // The job has started, and leads a group of its own. The clock is CLOCK_MONOTONIC, and outlives
  // this.
  SignalDelivery(pid_t job, const std::vector<std::string>& command, const sys::Clock& clock);

  // To poll() for reading; -1: none. Call advance() when any is readable.
  std::array<int, 3> descriptors() const;
  std::vector<pid_t> witnesses() const;

  void pass_on(const sys::Signal& signal);
  void advance();
  // This child, which may be a witness, has ended and was waited for.
  void note_reaped(pid_t child);
  // The job has ended: nothing is passed on any more, and the witnesses are ended.
  void end();

 private:
  struct Group {
    WitnessedGroup which = WitnessedGroup::Jobs;
    std::unique_ptr<Witness> witness = {};
    std::uint32_t replied = 0;
  };

  void receive(Group& group);
  bool proves(const Group& group) const;
  std::uint32_t replied_by_all() const;
  void set_timer() const;

  pid_t job_;
  const sys::Clock* clock_;
  HeldSignals held_;
  std::array<Group, 2> groups_;
  sys::Descriptor timer_ = {};
  bool is_over_ = false;
};

}  // namespace chokepoint::capture::job
