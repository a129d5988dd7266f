#include "analysis/limits/packets.h"

#include <algorithm>

namespace chokepoint::analysis {
namespace {

constexpr double kReceiveWindowUsed = 0.8;
constexpr std::int64_t kChatterBytes = 100;  // of a bin

Limit limit_of(const record::FlowSample& sample, const DirectionFacts& facts) {
  if (sample.rtt_us.known() && has_queue(figure(sample.rtt_us), facts)) {
    return Limit::LinkFull;
  }
  if (figure(sample.retransmitted_packets) > 0) {
    return Limit::Loss;
  }
  const double in_flight = figure(sample.max_in_flight_bytes);
  if (figure(sample.window_full) > 0 ||
      (sample.window_bytes.known() &&
       in_flight > kReceiveWindowUsed * figure(sample.window_bytes))) {
    return Limit::ReceiveWindow;
  }
  return in_flight > kBulkBytes ? Limit::LibraryCredit : Limit::RoundTrip;
}

double least_rtt_us(const std::vector<record::FlowSample>& samples, const DirectionFacts& facts) {
  double least_us = facts.min_rtt_us;
  for (const record::FlowSample& sample : samples) {
    if (sample.min_rtt_us.value_or(0) > 0) {
      const double us = figure(sample.min_rtt_us);
      least_us = least_us == 0 ? us : std::min(least_us, us);
    }
  }
  return least_us;
}

}  // namespace

std::vector<LimitedSpan> limits_of_packets(const std::vector<record::FlowSample>& samples,
                                           const DirectionFacts& facts) {
  DirectionFacts own = facts;
  own.min_rtt_us = least_rtt_us(samples, facts);
  std::vector<LimitedSpan> spans;
  for (const record::FlowSample& sample : samples) {
    if (sample.payload_bytes.value_or(0) > kChatterBytes) {
      LimitedSpan span{.span = {sample.t_ns - sample.bin_ns, sample.t_ns}};
      span.times[limit_of(sample, own)] = static_cast<double>(sample.bin_ns);
      spans.push_back(span);
    }
  }
  return spans;
}

}  // namespace chokepoint::analysis
