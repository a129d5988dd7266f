// Responsiveness as draft-ietf-ippm-responsiveness-09 has it: round trips a minute, of probes on
// connections of their own beside a load (foreign) and of requests within the load's connections
// (self). Pure functions and values.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/documents/probe_latency.h"
#include "probe/latency/carrier.h"

namespace chokepoint::probe::latency {

// The draft's parameters: intervals of a moving average, the share of the samples that a trimmed
// mean keeps, the largest standard deviation of what is stable, probes of each kind a second, and
// what they may take of the path.
inline constexpr std::size_t kMovingAverage = 4;
inline constexpr double kTrimmedShare = 0.95;
inline constexpr double kTolerance = 0.05;
inline constexpr double kMaxProbesPerSecond = 100;
inline constexpr double kCapacityShare = 0.05;

// A connection of its own, from SYN to the small object.
struct ForeignTime {
  double tcp_ms = 0;        // TCP's handshake
  double handshake_ms = 0;  // one round trip in which both ends agree on keys, as TLS 1.3 takes
  double request_ms = 0;    // a small object
};

struct ProbeTimes {
  std::vector<ForeignTime> foreign = {};
  std::vector<SelfTime> self = {};
};

// Of the smallest `kTrimmedShare` of the values; nullopt without any.
std::optional<double> trimmed_mean(std::vector<double> values);

using documents::Confidence;
using documents::Responsiveness;

Responsiveness responsiveness_of(const ProbeTimes& times);

// Of the round trips of the load's own connections, by the sender's kernel.
std::optional<double> path_p90_ms(const ProbeTimes& times);

// "poor", "fair", "good" or "excellent", by the draft's bounds.
std::string_view rating_of(double rpm);

// Whether a figure has become stable: the standard deviation of the last four values is at most 5 %
// of the newest. One value for each interval.
class Saturation {
 public:
  void add(double value);
  Confidence confidence() const;
  bool is_reached() const { return confidence() == Confidence::High; }

 private:
  std::deque<double> values_;
};

// The mean of the last four values; nullopt before there are as many.
class MovingAverage {
 public:
  std::optional<double> add(double value);

 private:
  std::deque<double> values_;
};

// Pairs of probes a second over a path of this capacity.
double probes_per_second(double bits_per_s);

}  // namespace chokepoint::probe::latency
