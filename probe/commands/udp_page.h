// What 'chokepoint probe udp' measured and how it is shown: the document, the table for people, and
// the live lines. One thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/cli/context.h"
#include "base/documents/probe_udp.h"
#include "probe/udp/outcome.h"
#include "probe/udp/search.h"

namespace chokepoint::probe {

struct UdpMeasured {
  udp::Parameters parameters = {};
  udp::RunPlan plan = {};
  udp::RunResult result = {};
  double max_loss = 0.001;  // a share of 1; more ends a trial of the search
  bool searched = false;
  bool only_trials = false;  // the search found no rate, or was interrupted
  int trials = 0;
  std::optional<udp::Trial> obstacle = {};
  std::optional<udp::ClockOffset> clock = {};  // the peer's less this host's
};

// Each direction with its verdict, and without delays that the clocks are too far apart to show.
std::vector<udp::Outcome> judge_all(const UdpMeasured& measured, const std::string& own,
                                    const std::string& peer);

// Without the peer. `bits_per_s`: 0 is as fast as it goes.
documents::ProbeUdp document_of(const udp::Parameters& parameters, std::size_t packet_bytes,
                                double bits_per_s, const std::vector<udp::Outcome>& directions);
documents::ProbeUdp document_of(const UdpMeasured& measured,
                                const std::vector<udp::Outcome>& directions);

void print_page(const cli::Context& context, const UdpMeasured& measured,
                const std::vector<udp::Outcome>& directions);

// Lines on standard error, on a terminal only: one per trial, one per interval.
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
