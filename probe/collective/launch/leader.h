// The process that leads a job: opens the meeting of the ranks, leads them through the measurement
// by conduct() (conductor.h), and meanwhile supervises those that it started itself, here or on
// other hosts. One thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/control/client.h"
#include "base/sys/clock.h"
#include "probe/collective/launch/children.h"
#include "probe/collective/launch/conductor.h"
#include "probe/collective/launch/rank_service.h"
#include "probe/collective/rendezvous/hub.h"
#include "probe/collective/rendezvous/meeting.h"

namespace chokepoint::probe::collective {

// All ranks on this host, as child processes.
Result<std::unique_ptr<StartedRanks>> start_local_ranks(const RanksWanted& wanted,
                                                        const sys::Clock& clock);

// `wanted.count` of them on each host, by the `chokepoint serve` there, numbered in the order of
// the hosts. The servers are asked in an order that is the same for all clients, so that two
// clients never wait for each other.
Result<std::unique_ptr<StartedRanks>> start_remote_ranks(
    const RanksWanted& wanted, const std::vector<control::ClientOptions>& hosts, int interrupt,
    const control::Waiting& waiting);

struct LeaderOptions {
  std::string job = {};
  int ranks = 1;
  MeetingOptions meeting = {};
  std::chrono::seconds timeout{60};
  int interrupt = -1;  // readable once the user wants it to end
  std::function<void(const SizeResult&)> on_size = {};
};

struct CoordinatorResult {
  Outcome outcome = {};  // what was measured, however it ended
  bool interrupted = false;
  std::optional<Error> failure = {};
};

class Leader {
 public:
  static Result<std::unique_ptr<Leader>> open(LeaderOptions options, const sys::Clock& clock);

  std::uint16_t port() const { return meeting_->port(); }
  // Keeps the ranks, and checks on them while it leads.
  void supervise(std::unique_ptr<StartedRanks> started) { started_ = std::move(started); }

  // Until all is measured, a rank fails or the user wants it to end. Only once: it ends the
  // meeting.
  CoordinatorResult lead(const Plan& plan);

 private:
  explicit Leader(LeaderOptions options);
  Result<> still_wanted();
  Error cause_of(const Error& error);

  LeaderOptions options_;
  Hub hub_;
  std::unique_ptr<Meeting> meeting_;
  std::unique_ptr<StartedRanks> started_;
};

}  // namespace chokepoint::probe::collective
