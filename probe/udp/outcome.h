// The result of a run in one direction, from both ends' reports: what was offered by the sender's
// count, what arrived by the receiver's. The same as a trial of a search for the highest rate, with
// what it failed for. And the verdict: one sentence on what the path carried and what limited it.
// Rates are of payload. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/documents/probe_udp.h"
#include "base/math/units.h"
#include "probe/udp/parameters.h"
#include "probe/udp/run_threads.h"
#include "probe/udp/test.h"

namespace chokepoint::probe::udp {

using Limit = documents::UdpLimit;
using Interval = documents::UdpInterval;

struct Verdict {
  Limit limit = Limit::Nothing;
  std::string sentence = {};
};

struct Outcome {
  Direction direction = Direction::Send;
  documents::UdpFigures figures = {};  // limit and summary are set by who called judge()
  std::string error = {};              // of the sender

  // The sender waited for its interface for so much of the time that this limited it.
  bool interface_full() const {
    constexpr double kMinBlockedShare = 0.02;
    return figures.sender_blocked_s > kMinBlockedShare * figures.duration_s;
  }
  // The sender stalled, and then caught up with so many packets that a queue may have overflowed.
  bool stalled() const;
  double loss() const { return figures.loss_percent.value_or(0) / math::kPercent; }  // a share
};

// Send or Receive; for a run of both, each in turn.
Outcome outcome_of(const RunResult& result, const RunPlan& plan, Direction direction);

std::vector<Outcome> outcomes_of(const RunResult& result, const RunPlan& plan, Direction direction);

enum class TrialEnd { Passed, Loss, ReceiverQueue, FillsQueue, Sender, Stalled };

// Of the direction that delivered less, where both were tried.
struct Trial {
  double bits_per_s = 0;  // asked for
  double offered_bits_per_s = 0;
  double delivered_bits_per_s = 0;
  double loss = 0;              // a share of what was sent
  double loss_in_queue = 0;     // the part of it that the receiving socket dropped
  bool interface_full = false;  // the sender's
  bool stalled = false;         // see Outcome::stalled
};

TrialEnd judge(const Trial& trial, double max_loss);

// From the outcome of each direction.
Trial trial_of(const std::vector<Outcome>& outcomes, double bits_per_s);

// What the run was for, and the names of its ends.
struct RunFacts {
  double asked_bits_per_s = 0;  // 0: as fast as it goes
  bool searched = false;        // then `obstacle` is what ended the search
  std::optional<Trial> obstacle = {};
  double max_loss = 0.001;
  std::string sender = {};
  std::string receiver = {};
};

Verdict judge(const Outcome& outcome, const RunFacts& facts);

}  // namespace chokepoint::probe::udp
