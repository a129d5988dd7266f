// The job in a capture that is recorded: its hosts, what each of them did in Gloo's collectives,
// and its steps. A capture of one host shows all of that of its own rank, and of the others as far
// as they exchange with it; so each end of each connection is followed by itself.
//
//   connection 1 ─ part of end a, of end b ─┐
//   connection 2 ─ part of end a, of end b ─┴─ by address: a host ─▶ its collectives ─▶ steps
//   bytes by millisecond ─────────────────────────────────────────▶ their rhythm ─────▶ steps
//
// Several ranks of a host count as one, which has arrived when the last of them has: the packets
// do not show the rank of a connection. Rows have the host's number as their rank; an event for
// each host has its address. If the capture has no messages of Gloo, steps are found from the
// rhythm of all traffic.
//
// take() by any thread; finish() once no more comes. Bounded: kMaxHosts, and as RankCollectives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "base/record/sink.h"
#include "capture/gloo/rank_collectives.h"
#include "capture/observer/flow_timing.h"
#include "capture/packet/packet.h"
#include "capture/step/collective_cycle.h"
#include "capture/step/step.h"
#include "capture/step/traffic_period.h"

namespace chokepoint::capture {

class CapturedJob {
 public:
  static constexpr std::size_t kMaxHosts = 4'096;

  // `is_live`: rows that do not fit are lost; else it waits. The sink outlives it.
  CapturedJob(record::Sink& sink, std::int64_t wall_to_monotonic_ns, bool is_live);

  // `part`: as the record has it, but for its rank; `end`: of its flow; `sending`: as that end
  // sends.
  void take(const record::Collective& part, std::int64_t end, const packet::Ends& sending,
            std::int64_t now_ns);
  void take(const std::vector<observer::TrafficBin>& bins);
  void finish();

 private:
  // Whose traffic has which rhythm.
  struct Rhythm {
    step::TrafficPeriod period = {};
    std::vector<step::Step> steps = {};

    void estimate(std::int64_t now_ns);
    void finish();
  };

  std::int64_t number_of(const packet::Ends& sending, std::int64_t t_ns);
  void settle(std::int64_t now_ns);
  void pass_on(bool is_all);
  void push(const auto& row);
  void push_step(const step::Step& step);

  record::Sink& sink_;
  record::Producer producer_;
  std::int64_t wall_to_monotonic_ns_;
  bool is_live_;
  std::mutex mutex_;
  std::map<packet::Address, std::int64_t> hosts_;
  std::vector<gloo::RankedProcess> ranks_;
  gloo::RankCollectives collectives_;
  std::vector<record::Collective> emitted_;  // not yet in order
  step::CollectiveCycle cycle_;
  Rhythm of_gloo_;
  Rhythm of_all_;
  std::int64_t settled_ns_ = 0;
  std::int64_t estimated_ns_ = 0;
  std::map<std::pair<int, record::StepSource>, std::int64_t> counts_;
};

}  // namespace chokepoint::capture
