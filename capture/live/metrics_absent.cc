// In place of metrics.cc where prometheus-cpp was not found.
#include "capture/live/metrics.h"

namespace chokepoint::capture::live {

std::vector<otlp::Point> points_of(const Figures& /*figures*/, std::int64_t /*began_wall_ns*/,
                                   std::int64_t /*now_wall_ns*/) {
  return {};
}

Result<> Metrics::check(const std::string& address) {
  return fail(ErrorKind::Unsupported, "--metrics", address, "this chokepoint was built without it",
              "build it again where prometheus-cpp and its development files are installed");
}

Result<std::unique_ptr<Metrics>> Metrics::serve(const std::string& address) {
  return fail(check(address).error());
}

}  // namespace chokepoint::capture::live
