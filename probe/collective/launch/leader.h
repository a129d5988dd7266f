// Who has the ranks meet and leads them through a measurement, however they were started: from
// opening the door to the last word. One thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "probe/collective/conduct/conductor.h"
#include "probe/collective/launch/started.h"
#include "probe/collective/rendezvous/meeting.h"

namespace chokepoint::probe::collective {

struct LeaderOptions {
  std::string job = {};
  int ranks = 1;
  MeetingOptions meeting = {};
  std::chrono::seconds timeout{60};
  int interrupt = -1;  // readable once the user wants it to end
  std::function<void(const SizeResult&)> on_size = {};
};

struct Led {
  Outcome outcome = {};  // what was measured, however it ended
  bool interrupted = false;
  std::optional<Error> failure = {};
};

class Leader {
 public:
  static Result<std::unique_ptr<Leader>> open(LeaderOptions options, const sys::Clock& clock);

  std::uint16_t port() const { return meeting_->port(); }
  // Ranks that are looked after meanwhile.
  void look_after(std::unique_ptr<Started> started) { started_ = std::move(started); }

  // Until all is measured, a rank fails or the user wants it to end. Once; then the meeting is
  // over.
  Led lead(const Plan& plan);

 private:
  explicit Leader(LeaderOptions options);
  Result<> still_wanted();
  Error cause_of(const Error& error);

  LeaderOptions options_;
  Hub hub_;
  std::unique_ptr<Meeting> meeting_;
  std::unique_ptr<Started> started_;
};

}  // namespace chokepoint::probe::collective
