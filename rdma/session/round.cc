#include "rdma/session/round.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>

#include "base/control/message.h"
#include "base/json/codec.h"
#include "base/math/units.h"
#include "base/sys/clock.h"
#include "base/sys/descriptor.h"

namespace chokepoint {

template <>
struct Fields<rdma::session::SideResult> {
  using R = rdma::session::SideResult;
  static constexpr double kMaxFigure = 1e18;
  static constexpr FieldList kList{
      field("messages", &R::messages, "messages that this side sent or received")
          .at_most(kMaxCount),
      field("bytes", &R::bytes, "payload of these messages").at_most(kMaxCount),
      field("duration_s", &R::duration_s, "from the first message to the last")
          .between(0, kMaxFigure),
      field("average_mbps", &R::average_mbps, "payload, mean of the round, 10^6 bit/s")
          .between(0, kMaxFigure),
      field("peak_mbps", &R::peak_mbps, "payload of the fastest interval, 10^6 bit/s")
          .between(0, kMaxFigure),
      field("messages_per_s", &R::messages_per_s, "mean of the round").between(0, kMaxFigure),
      field("mismatches", &R::mismatches, "messages that differ from what was sent; null: no check")
          .at_most(kMaxCount),
      field("cpu_percent", &R::cpu_percent, "share of one processor that the test's thread took")
          .between(0, kMaxFigure)};
};

}  // namespace chokepoint

namespace chokepoint::rdma::session {
namespace {

using control::Json;
using control::Message;
using control::Type;
using net::Deadline;
using perf::Role;
using std::chrono::milliseconds;

// How long the peer may take to send the reason of its failure.
constexpr milliseconds kExplanation{500};

bool is_early(const Json& stop) {
  const auto at = stop.find("early");
  return at != stop.end() && *at == true;
}

Error gone(Error error) {
  error.operation.clear();
  error.reason = "the peer has gone: " + error.reason;
  error.next_step = "see the error there, or the log of its system";
  return error;
}

// Of one request, in the rings of this program, libibverbs and the device: an estimate.
constexpr std::uint64_t kRequestBytes = 256;
constexpr std::uint64_t kMinQueueBytes = std::uint64_t{64} << 20;  // always granted

std::uint64_t queue_bytes(const perf::Plan& plan) {
  const auto requests = static_cast<std::uint64_t>(perf::send_depth(plan)) +
                        static_cast<std::uint64_t>(perf::receive_depth(plan));
  return static_cast<std::uint64_t>(plan.queue_pairs) * requests * kRequestBytes;
}

std::unexpected<Error> too_large(std::string_view flags, std::string_view what, std::uint64_t bytes,
                                 std::uint64_t granted) {
  return fail(ErrorKind::Usage, "", flags,
              fmt::format("the test needs {} of {}, the server grants at most {}", what,
                          math::format_bytes(static_cast<double>(bytes)),
                          math::format_bytes(static_cast<double>(granted))),
              "ask for less, or raise it with --max-window of 'chokepoint serve'");
}

SideResult side_result_of(const perf::Outcome& outcome) {
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

Result<> Watch::handle(Message message) {
  switch (message.type) {
    case Type::Stop:
      if (stop_) {
        return fail(ErrorKind::Malformed, "receive", channel_.peer(), "it stopped a test twice");
      }
      stop_ = std::move(message.body);
      peer_done_ = follows_ || is_early(*stop_);
      return {};
    case Type::Failed:
    case Type::Refused:
      explained_ = true;
      return fail(control::error_in(message.body, channel_.peer()));
    case Type::Bye:
      return fail(ErrorKind::Refused, "", channel_.peer(),
                  "the peer has gone: it ended the session");
    default:
      return fail(ErrorKind::Malformed, "receive", channel_.peer(),
                  fmt::format("a {} came in the middle of a test", name_of(message.type)));
  }
}

Result<> Watch::read_messages() {
  while (true) {
    Result<std::optional<Message>> message = channel_.poll();
    if (!message) {
      return fail(gone(message.error()));
    }
    if (!*message) {
      return {};
    }
    TRY(handle(std::move(**message)));
  }
}

Result<bool> Watch::go_on() {
  TRY(read_messages());
  interrupted_ = interrupted_ || sys::is_readable(interrupt_);
  if (interrupted_ || peer_done_) {
    return false;
  }
  if (deadline_.over()) {
    return fail(ErrorKind::Timeout, "", channel_.peer(), "the test did not come to its end in time",
                "give fewer --iterations, or --time");
  }
  return true;
}

Result<Json> Watch::peer_stopped(const Deadline& deadline) {
  if (stop_) {
    return *stop_;
  }
  TRY(Message message, channel_.expect(Type::Stop, deadline));
  stop_ = std::move(message.body);
  return *stop_;
}

Error Watch::reason(const Error& own) {
  if (explained_) {
    return own;
  }
  const Deadline deadline = Deadline::of(kExplanation);
  while (!deadline.over()) {
    if (!net::wait_for(channel_.descriptor(), POLLIN, deadline, "wait", channel_.peer())) {
      break;
    }
    if (const Result<> read = read_messages(); !read) {
      return read.error();
    }
  }
  return own;
}

std::chrono::nanoseconds round_limit(const perf::Plan& plan, const control::Limits& limits,
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
  if (bytes > granted) {
    return too_large("--bytes, --queue-pairs", "a buffer", bytes, granted);
  }
  if (queues > std::max(granted, kMinQueueBytes)) {
    return too_large("--queue-pairs, --depth, --receive-depth", "queues", queues,
                     std::max(granted, kMinQueueBytes));
  }
  return bytes;
}

Json opening_body(std::size_t round, const perf::Plan& plan, const SideAddresses& client) {
  return {{"round", round}, {"plan", body_of(plan)}, {"client", body_of(client)}};
}

Result<SideAddresses> opening_in(const Json& body, std::size_t round, const perf::Plan& plan) {
  TRY(const auto number, json::field_in<std::size_t>(body, "round", "rdma round"));
  if (number != round || object_in(body, "plan") != body_of(plan)) {
    return fail(ErrorKind::Malformed, "", "rdma round",
                "both sides understand the test differently",
                "run the same version of chokepoint at both ends");
  }
  return side_addresses_in(object_in(body, "client"), plan.queue_pairs);
}

Result<> get_ready(const LocalEndpoint& endpoint, const perf::Plan& plan, perf::Role role,
                   Watch& watch) {
  return perf::prepare(endpoint.side(role, watch, watch.peer()), plan);
}

Json body_of(const SideResult& result) { return json::to_json(result); }

Result<SideResult> side_result_in(const Json& body) {
  return json::from_json<SideResult>(body, "rdma result of a side");
}

Result<SideResult> run_side(const LocalEndpoint& endpoint, const perf::Plan& plan, Role role,
                            Watch& watch, const sys::Clock& clock) {
  const std::int64_t cpu = sys::thread_cpu_ns();
  const std::int64_t begun = clock.monotonic_ns();
  const Result<perf::Outcome> outcome = perf::run(endpoint.side(role, watch, watch.peer()), plan);
  if (!outcome) {
    return fail(watch.reason(outcome.error()));
  }
  SideResult result = side_result_of(*outcome);
  const std::int64_t passed = clock.monotonic_ns() - begun;
  result.cpu_percent = passed > 0 ? 100.0 * static_cast<double>(sys::thread_cpu_ns() - cpu) /
                                        static_cast<double>(passed)
                                  : 0;
  return result;
}

bool is_filled(const perf::Plan& plan, Role role) {
  if (!plan.check) {
    return false;
  }
  const bool by_reading = plan.operation == verbs::Operation::Read;
  return plan.both_ways || (role == Role::Active) == by_reading;
}

Result<> check_memory(const LocalEndpoint& endpoint, const perf::Plan& plan, Role role,
                      std::uint64_t messages, Watch& watch, SideResult& result) {
  if (!is_filled(plan, role)) {
    return {};
  }
  TRY(const std::uint64_t count,
      perf::count_mismatches(endpoint.side(role, watch, watch.peer()), plan, messages));
  result.mismatches = result.mismatches.value_or(0) + count;
  return {};
}

}  // namespace chokepoint::rdma::session
