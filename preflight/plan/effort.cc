#include "preflight/plan/effort.h"

#include <array>

namespace chokepoint::preflight::plan {
namespace {

constexpr std::int64_t kMiB = 1 << 20;

Effort quick() {
  return {.name = "quick",
          .most_rounds = 15,
          .path_rounds = 3,
          .most_suspects = 6,
          .latency = Milliseconds(250),
          .loss = Milliseconds(600),
          .tcp = Milliseconds(500),
          .again = Milliseconds(700),
          .cut = Milliseconds(1000),
          .rdma = Milliseconds(300),
          .collective = Milliseconds(1000),
          .collective_bytes = 4 * kMiB};
}

Effort usual() {
  return {.name = "default",
          .most_rounds = 63,
          .path_rounds = 15,
          .most_suspects = 72,
          .latency = Milliseconds(1000),
          .loss = Milliseconds(2000),
          .tcp = Milliseconds(2000),
          .again = Milliseconds(1000),
          .cut = Milliseconds(3000),
          .rdma = Milliseconds(1000),
          .collective = Milliseconds(2000),
          .collective_bytes = 16 * kMiB};
}

Effort thorough() {
  return {.name = "thorough",
          .most_rounds = 0,
          .path_rounds = 0,
          .most_suspects = 300,
          .latency = Milliseconds(3000),
          .loss = Milliseconds(10'000),
          .tcp = Milliseconds(10'000),
          .again = Milliseconds(3000),
          .cut = Milliseconds(10'000),
          .rdma = Milliseconds(3000),
          .collective = Milliseconds(5000),
          .collective_bytes = 64 * kMiB};
}

}  // namespace

std::optional<Effort> effort_named(std::string_view name) {
  for (Effort& effort : std::array{quick(), usual(), thorough()}) {
    if (effort.name == name) {
      return std::move(effort);
    }
  }
  return std::nullopt;
}

}  // namespace chokepoint::preflight::plan
