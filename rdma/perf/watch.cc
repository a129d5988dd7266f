#include "rdma/perf/watch.h"

#include <chrono>
#include <thread>

namespace chokepoint::rdma::perf {

Result<Outcome> watch(Attention& attention) {
  for (;;) {
    TRY(const auto go_on, attention.go_on());
    if (!go_on) {
      return Outcome{};
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(4));
  }
}

}  // namespace chokepoint::rdma::perf
