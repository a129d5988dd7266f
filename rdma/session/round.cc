#include "rdma/session/round.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/control/fields.h"
#include "base/math/units.h"

namespace chokepoint::rdma::session {
namespace {

using control::Json;

constexpr std::int64_t kMostRounds = 1024;
constexpr std::uint64_t kRequestBytes = 256;  // in the rings of program, library and device
constexpr std::uint64_t kQueuesAlways = std::uint64_t{64} << 20;

std::uint64_t queue_bytes(const perf::Plan& plan) {
  const auto requests = static_cast<std::uint64_t>(perf::send_depth(plan)) +
                        static_cast<std::uint64_t>(perf::receive_depth(plan));
  return static_cast<std::uint64_t>(plan.queue_pairs) * requests * kRequestBytes;
}

Result<> too_large(std::string_view flags, std::string_view what, std::uint64_t bytes,
                   std::uint64_t granted) {
  return fail(ErrorKind::Usage, "", flags,
              fmt::format("the test needs {} of {}, the server grants at most {}", what,
                          math::format_bytes(static_cast<double>(bytes)),
                          math::format_bytes(static_cast<double>(granted))),
              "ask for less, or raise it with --max-window of 'chokepoint serve'");
}

}  // namespace

std::chrono::nanoseconds longest(const perf::Plan& plan, const control::Limits& limits,
                                 std::chrono::nanoseconds passed) {
  const auto left = std::max(limits.longest_test - passed, std::chrono::nanoseconds(0));
  return plan.time.value_or(left) + kSlack;
}

Result<std::uint64_t> memory_for(const Agreement& agreement, const control::Limits& limits) {
  std::uint64_t bytes = 0;
  std::uint64_t queues = 0;
  for (const perf::Plan& plan : agreement.rounds) {
    bytes = std::max(bytes, perf::bytes_needed(plan));
    queues = std::max(queues, queue_bytes(plan));
  }
  const auto granted = static_cast<std::uint64_t>(limits.buffer_bytes);
  Result<> fits;
  if (bytes > granted) {
    fits = too_large("--bytes, --queue-pairs", "a buffer", bytes, granted);
  } else if (queues > std::max(granted, kQueuesAlways)) {
    fits = too_large("--queue-pairs, --depth, --receive-depth", "queues", queues,
                     std::max(granted, kQueuesAlways));
  }
  return fits ? Result<std::uint64_t>(bytes) : std::unexpected(fits.error());
}

Json opening_body(std::size_t round, const perf::Plan& plan, const Whereabouts& client) {
  return {{"round", round}, {"plan", body_of(plan)}, {"client", body_of(client)}};
}

Result<Whereabouts> opening_in(const Json& body, std::size_t round, const perf::Plan& plan) {
  control::Fields in(body, "rdma round");
  const auto number = static_cast<std::size_t>(in.integer("round", 0, kMostRounds));
  const Json& theirs = in.object("plan");
  const Json& client = in.object("client");
  TRY(in.finish(true));
  if (number != round || theirs != body_of(plan)) {
    return fail(ErrorKind::Malformed, "", "rdma round",
                "both sides understand the test differently",
                "run the same version of chokepoint at both ends");
  }
  return whereabouts_in(client, plan.queue_pairs);
}

Result<> get_ready(const Station& station, const perf::Plan& plan, perf::Role role, Watch& watch) {
  return perf::prepare(station.side(role, watch, watch.peer()), plan);
}

}  // namespace chokepoint::rdma::session
