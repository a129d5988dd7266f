#include "probe/latency/parameters.h"

#include "base/control/fields.h"

namespace chokepoint::probe::latency {

control::Json body_of(const Parameters& parameters) {
  return {{"time_ns", parameters.time.count()}, {"udp", parameters.udp}};
}

Result<Parameters> parameters_in(const control::Json& body) {
  constexpr std::int64_t kLongest = std::int64_t{86'400'000'000'000};
  control::Fields in(body, "latency request");
  return in.finish(Parameters{.time = std::chrono::nanoseconds(in.integer("time_ns", 1, kLongest)),
                              .udp = in.boolean("udp")});
}

}  // namespace chokepoint::probe::latency
