#include "rdma/session/half.h"

#include <ctime>

#include "base/control/bodies.h"
#include "base/control/fields.h"

namespace chokepoint::rdma::session {
namespace {

using control::Json;
using control::or_null;
using perf::Role;

constexpr double kMost = 1e18;

std::int64_t thread_cpu_ns() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

std::uint64_t count_in(control::Fields& in, const char* name) {
  return static_cast<std::uint64_t>(in.integer(name, 0, INT64_MAX));
}

Half half_of(const perf::Outcome& outcome) {
  return {.messages = outcome.messages,
          .bytes = outcome.bytes,
          .duration_s = static_cast<double>(outcome.duration_ns) / 1e9,
          .average_mbps = outcome.average_mbps,
          .peak_mbps = outcome.peak_mbps,
          .messages_per_s = outcome.messages_per_s,
          .mismatches = outcome.mismatches,
          .latency_ns = outcome.latency_ns};
}

}  // namespace

Json body_of(const Half& half) {
  return {{"messages", half.messages},
          {"bytes", half.bytes},
          {"duration_s", half.duration_s},
          {"average_mbps", or_null(half.average_mbps)},
          {"peak_mbps", or_null(half.peak_mbps)},
          {"messages_per_s", or_null(half.messages_per_s)},
          {"mismatches", or_null(half.mismatches)},
          {"cpu_percent", half.cpu_percent}};
}

Result<Half> half_in(const Json& body) {
  control::Fields in(body, "rdma half");
  Half half{.messages = count_in(in, "messages"),
            .bytes = count_in(in, "bytes"),
            .duration_s = in.number("duration_s", 0, kMost),
            .average_mbps = in.maybe_number("average_mbps", 0, kMost),
            .peak_mbps = in.maybe_number("peak_mbps", 0, kMost),
            .messages_per_s = in.maybe_number("messages_per_s", 0, kMost),
            .cpu_percent = in.number("cpu_percent", 0, kMost)};
  if (const auto mismatches = in.maybe_integer("mismatches", 0, INT64_MAX)) {
    half.mismatches = static_cast<std::uint64_t>(*mismatches);
  }
  return in.finish(half);
}

Result<Half> run_half(const Station& station, const perf::Plan& plan, Role role, Watch& watch,
                      const sys::Clock& clock) {
  const std::int64_t cpu = thread_cpu_ns();
  const std::int64_t begun = clock.monotonic_ns();
  const Result<perf::Outcome> outcome = perf::run(station.side(role, watch, watch.peer()), plan);
  if (!outcome) {
    return fail(watch.reason(outcome.error()));
  }
  Half half = half_of(*outcome);
  const std::int64_t passed = clock.monotonic_ns() - begun;
  half.cpu_percent =
      passed > 0 ? 100.0 * static_cast<double>(thread_cpu_ns() - cpu) / static_cast<double>(passed)
                 : 0;
  return half;
}

bool is_filled(const perf::Plan& plan, Role role) {
  if (!plan.check) {
    return false;
  }
  const bool by_asking = plan.operation == verbs::Operation::Read;
  return plan.both_ways || (role == Role::Active) == by_asking;
}

Result<> check_memory(const Station& station, const perf::Plan& plan, Role role,
                      std::uint64_t messages, Watch& watch, Half& half) {
  if (!is_filled(plan, role)) {
    return {};
  }
  TRY(const std::uint64_t count,
      perf::count_mismatches(station.side(role, watch, watch.peer()), plan, messages));
  half.mismatches = half.mismatches.value_or(0) + count;
  return {};
}

}  // namespace chokepoint::rdma::session
