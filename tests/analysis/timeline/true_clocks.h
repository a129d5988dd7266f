// A run whose true clocks are known: packets take delays drawn by chance, as nodes with clocks that
// are wrong would have seen them. What fit_clocks() makes of it is held against the truth. One
// thread; the same every time.
#pragma once

#include <functional>
#include <random>
#include <string>
#include <vector>

#include "analysis/load/run_data.h"
#include "analysis/timeline/clocks.h"

namespace chokepoint::analysis {

// From true nanoseconds since the run's beginning to what the node's clock shows.
using TrueClock = std::function<std::int64_t(double true_ns)>;

TrueClock wrong_clock(std::int64_t shift_ns, double drift_ppm);

struct MarkedTraffic {
  double from_s = 0;
  double to_s = 10;
  double per_s = 10;     // packets in each direction that are marked at both ends
  double there_us = 50;  // where nothing waits
  double back_us = 50;
  double jitter_us = 20;      // on average, always
  double queue_us = 2'000;    // on average, where there is one
  double queued = 0.3;        // share of packets that meet a queue
  double standing_us = 0;     // there, all the time
  double only_one_end = 0.3;  // share that the other end did not mark
  double bytes = 1'000'003;   // between two packets
};

class TrueRun {
 public:
  // Ends at `seconds`.
  explicit TrueRun(double seconds) : seconds_(seconds) {}

  std::size_t node(const std::string& name, TrueClock clock);
  // Its number in data.connections.
  std::size_t connect(std::size_t a, std::size_t b);
  void add_traffic(std::size_t connection, const MarkedTraffic& traffic);
  void packet(std::size_t connection, record::Direction direction, double sent_ns, double delay_ns);

  // The worst that common times of this node and those of the reference are apart, over the run.
  double worst_us(const Clocks& clocks, std::size_t node) const;

  RunData data = {};
  std::mt19937_64 random{7};
  std::int64_t sequence = 0;  // of the next packet
  double bytes = 1'000'003;   // on from there

 private:
  record::FlowMark mark(std::size_t node, record::Direction direction, double true_ns) const;
  void add_packet(std::size_t connection, record::Direction direction, double sent_ns,
                  double delay_ns, const MarkedTraffic& traffic);

  double seconds_;
  std::vector<TrueClock> clocks_;
};

}  // namespace chokepoint::analysis
