#include "probe/nuttcp/server_rules.h"

namespace chokepoint::probe::nuttcp {

using std::chrono::nanoseconds;

bool server_sends(const Parameters& parameters) { return parameters.sender == Sender::Server; }

bool connects(const Parameters& parameters) {
  return server_sends(parameters) != parameters.flipped;
}

bool reports(const Parameters& parameters) {
  return parameters.interval_s > 0 && !server_sends(parameters);
}

nanoseconds time_of(const Parameters& parameters, const control::Limits& limits) {
  return parameters.time_s > 0 ? std::chrono::duration_cast<nanoseconds>(
                                     std::chrono::duration<double>(parameters.time_s))
                               : limits.longest_test;
}

Result<> check(const Parameters& parameters, const control::Limits& limits) {
  Result<> granted = control::check_time(limits, time_of(parameters, limits));
  granted = granted ? control::check_streams(limits, parameters.streams) : granted;
  return granted ? control::check_rate(
                       limits, static_cast<double>(parameters.rate_kbits_per_s.value_or(0)) * 1e3)
                 : granted;
}

}  // namespace chokepoint::probe::nuttcp
