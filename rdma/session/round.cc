#include "rdma/session/round.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/control/fields.h"
#include "base/math/units.h"

namespace chokepoint::rdma::session {
namespace {

using control::Json;

constexpr std::int64_t kMostRounds = 1024;

}  // namespace

std::chrono::nanoseconds longest(const perf::Plan& plan, const control::Limits& limits) {
  return (plan.time ? *plan.time : limits.longest_test) + kSlack;
}

Result<std::uint64_t> memory_for(const Agreement& agreement, const control::Limits& limits) {
  std::uint64_t bytes = 0;
  for (const perf::Plan& plan : agreement.rounds) {
    bytes = std::max(bytes, perf::bytes_needed(plan));
  }
  if (bytes <= static_cast<std::uint64_t>(limits.buffer_bytes)) {
    return bytes;
  }
  return fail(ErrorKind::Usage, "", "--bytes, --queue-pairs",
              fmt::format("the test needs a buffer of {}, the server grants at most {}",
                          math::format_bytes(static_cast<double>(bytes)),
                          math::format_bytes(static_cast<double>(limits.buffer_bytes))),
              "ask for less, or raise it with --max-window of 'chokepoint serve'");
}

Json opening_body(std::size_t round, const perf::Plan& plan, const Whereabouts& client) {
  return {{"round", round}, {"plan", body_of(plan)}, {"client", body_of(client)}};
}

Result<Whereabouts> opening_in(const Json& body, std::size_t round, const perf::Plan& plan) {
  control::Fields in(body, "rdma round");
  const auto number = static_cast<std::size_t>(in.integer("round", 0, kMostRounds));
  const Json& theirs = in.object("plan");
  const Json& client = in.object("client");
  if (const Result<bool> read = in.finish(true); !read) {
    return std::unexpected(read.error());
  }
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
