// What probe udp shows: chokepoint.probe.udp/1, the table for people, and the live lines.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/cli/context.h"
#include "base/cli/output.h"
#include "probe/udp/highest_rate.h"
#include "probe/udp/outcome.h"
#include "probe/udp/verdict.h"

namespace chokepoint::probe {

struct UdpMeasured {
  udp::Parameters parameters = {};
  udp::RunPlan plan = {};
  udp::RunResult result = {};
  double most_loss = 0.001;
  bool searched = false;
  bool only_trials = false;  // the search found nothing to hold, or was interrupted
  int trials = 0;
  std::optional<udp::Trial> obstacle = {};
  std::optional<udp::ClockOffset> clock = {};  // the peer's less this host's
};

// One direction with what was made of it.
struct UdpJudged {
  udp::Outcome outcome = {};
  udp::Verdict verdict = {};
};

std::vector<UdpJudged> judge_all(const UdpMeasured& measured, const std::string& own,
                                 const std::string& peer);

// Whether the delays measured say anything beyond what the clocks leave open.
bool tells_delay(const udp::Outcome& outcome, const std::optional<udp::ClockOffset>& clock);

// Into `document`, which has its head already.
void add_to(cli::Json& document, const UdpMeasured& measured,
            const std::vector<UdpJudged>& directions);

void print_page(const cli::Context& context, const UdpMeasured& measured,
                const std::vector<UdpJudged>& directions);

// Lines on standard error where a person watches: one for each trial, one an interval.
class UdpLive {
 public:
  explicit UdpLive(const cli::Context& context);
  void show(const udp::Trial& trial, udp::TrialEnd end) const;
  void show(const udp::Live& live, udp::Direction direction, std::chrono::nanoseconds interval);

 private:
  void line(std::string_view arrow, double elapsed_s, const udp::LiveCounts& now,
            const udp::LiveCounts& before) const;

  const cli::Context& context_;
  bool visible_;
  std::int64_t shown_ = 0;  // intervals
  udp::Live last_ = {};
};

}  // namespace chokepoint::probe
