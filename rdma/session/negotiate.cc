#include "rdma/session/negotiate.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json/codec.h"

namespace chokepoint {

template <>
struct Fields<rdma::perf::Plan> {
  using P = rdma::perf::Plan;
  static constexpr FieldList kList{
      field("operation", &P::operation, "what each request does"),
      field("metric", &P::metric, "bandwidth or latency"),
      field("transport", &P::transport, "how queue pairs are connected"),
      field("message_bytes", &P::message_bytes, "bytes of each message"),
      field("queue_pairs", &P::queue_pairs, "number of connections"),
      field("depth", &P::depth, "requests under way on a queue pair"),
      field("moderation", &P::moderation, "requests per signaled completion"),
      field("post_list", &P::post_list, "requests of one post"),
      field("receive_depth", &P::receive_depth, "receives posted on a queue pair"),
      field("both_ways", &P::both_ways, "whether both directions run at once"),
      field("events", &P::events, "whether threads sleep until a completion, instead of polling"),
      field("check", &P::check, "whether what arrives is compared with what was sent"),
      field("iterations", &P::iterations,
            "requests of each queue pair; null: the time ends the round"),
      field("time_ns", &P::time, "length of the round; null: the iterations end it"),
      field("warm_up", &P::warm_up, "first iterations, which are not measured")};
};

}  // namespace chokepoint

namespace chokepoint::rdma::session {
namespace {

using perf::Metric;
using perf::Plan;

constexpr int kDefaultModeration = 100;
// Larger messages take so long that a completion of each one costs nothing.
constexpr std::uint32_t kMaxModeratedBytes = 8192;
// What common devices take inside a request, which saves a fetch over PCIe.
constexpr int kDefaultInline = 220;
constexpr int kHopLimit = 64;

// A limit of both devices.
struct Bound {
  int client = 0;
  int server = 0;
  int least() const { return std::min(client, server); }
};

class Negotiation {
 public:
  Negotiation(const Parameters& parameters, const SideFacts& client, const SideFacts& server,
              const HostNames& names)
      : parameters_(parameters), client_(client), server_(server), names_(names) {}

  Result<Agreement> agree() {
    for (const auto step : {&Negotiation::links, &Negotiation::gids, &Negotiation::mtu,
                            &Negotiation::abilities, &Negotiation::queues, &Negotiation::sizes}) {
      TRY((this->*step)());
    }
    return std::move(agreement_);
  }

 private:
  // "rxe0 here 1024, rxe1 of hubble 4096"
  template <class Value>
  std::string both(const Value& client, const Value& server) const {
    return fmt::format("{} of {}: {}, {} of {}: {}", client_.device, names_.client, client,
                       server_.device, names_.server, server);
  }

  static Result<> refuse(ErrorKind kind, std::string_view subject, const std::string& reason,
                         std::string_view next_step) {
    return fail(kind, "", subject, reason, next_step);
  }

  Result<> links() {
    if (client_.ethernet == server_.ethernet) {
      return {};
    }
    const auto layer = [](const SideFacts& side) {
      return side.ethernet ? "Ethernet" : "InfiniBand";
    };
    return refuse(ErrorKind::Unsupported, "link layer", both(layer(client_), layer(server_)),
                  "choose ports of the same fabric with --device and --peer-device");
  }

  Result<> gids() {
    if (!client_.ethernet) {
      return {};
    }
    if (client_.gid_type != server_.gid_type) {
      return refuse(ErrorKind::Unsupported, "RoCE version",
                    both(name_of(client_.gid_type), name_of(server_.gid_type)),
                    "leave --gid-index and --peer-gid-index out, or choose two of one version");
    }
    const net::Family client = address_of(client_.gid).family();
    const net::Family server = address_of(server_.gid).family();
    if (client != server) {
      return refuse(ErrorKind::Unsupported, "GID",
                    both(text_of(client_.gid), text_of(server_.gid)) +
                        ": the families differ, so that neither reaches the other",
                    "leave --gid-index and --peer-gid-index out, or choose two of one family");
    }
    return {};
  }

  Result<> mtu() {
    const Bound most{client_.active_mtu_bytes, server_.active_mtu_bytes};
    if (parameters_.mtu_bytes && *parameters_.mtu_bytes > most.least()) {
      return refuse(ErrorKind::Usage, fmt::format("--mtu {}", *parameters_.mtu_bytes),
                    "the ports carry less: " + both(most.client, most.server),
                    "ask for less, or give both interfaces a larger MTU");
    }
    agreement_.mtu_bytes = parameters_.mtu_bytes.value_or(most.least());
    if (most.client != most.server && !parameters_.mtu_bytes) {
      agreement_.lowered.push_back(fmt::format("MTU {}, the lower of both ({})", most.least(),
                                               both(most.client, most.server)));
    }
    return {};
  }

  Result<> abilities() {
    if (verbs::is_atomic(parameters_.operation) && !server_.limits.atomics) {
      return refuse(ErrorKind::Unsupported, fmt::format("{} of {}", server_.device, names_.server),
                    "the device has no atomic operations", "try 'rdma read' instead");
    }
    if (verbs::is_atomic(parameters_.operation) && parameters_.both_ways &&
        !client_.limits.atomics) {
      return refuse(ErrorKind::Unsupported, fmt::format("{} of {}", client_.device, names_.client),
                    "the device has no atomic operations", "leave --both out");
    }
    return {};
  }

  Result<> queues() {
    const int asked = parameters_.queue_pairs;
    const Bound most{client_.limits.queue_pairs, server_.limits.queue_pairs};
    if (asked > most.least()) {
      return refuse(ErrorKind::Usage, fmt::format("--queue-pairs {}", asked),
                    "the devices have fewer: " + both(most.client, most.server), "ask for fewer");
    }
    TRY(depth_, depth_of(parameters_.depth, kDefaultDepth, "--depth"));
    TRY(receive_depth_,
        depth_of(parameters_.receive_depth, kDefaultReceiveDepth, "--receive-depth"));
    if (parameters_.post_list > depth_) {
      return refuse(ErrorKind::Usage, fmt::format("--post-list {}", parameters_.post_list),
                    fmt::format("a depth of {} cannot hold a post", depth_), "ask for fewer");
    }
    if (parameters_.moderation.value_or(1) > depth_) {
      return refuse(
          ErrorKind::Usage, fmt::format("--moderation {}", *parameters_.moderation),
          fmt::format("a queue of depth {} fills up before a completion is signaled", depth_),
          "ask for less, or give a larger --depth");
    }
    return {};
  }

  // Queues of one side share a completion queue, which has to hold all that they may complete.
  static int deepest(const SideFacts& side, int queue_pairs) {
    return std::max(1, std::min(side.limits.depth, side.limits.completions / queue_pairs));
  }

  Result<int> depth_of(std::optional<int> asked, int usual, std::string_view flag) {
    const Bound most{deepest(client_, parameters_.queue_pairs),
                     deepest(server_, parameters_.queue_pairs)};
    if (asked && *asked > most.least()) {
      return fail(ErrorKind::Usage, "", fmt::format("{} {}", flag, *asked),
                  fmt::format("with {} queue pairs the devices hold less: {}",
                              parameters_.queue_pairs, both(most.client, most.server)),
                  "ask for less");
    }
    if (!asked && usual > most.least()) {
      agreement_.lowered.push_back(fmt::format("{} {} instead of {} ({})", flag.substr(2),
                                               most.least(), usual,
                                               both(most.client, most.server)));
    }
    return asked.value_or(std::min(usual, most.least()));
  }

  Result<> sizes() {
    for (const std::uint32_t size : parameters_.sizes) {
      const bool datagram = parameters_.transport == verbs::Transport::Ud;
      if (datagram && size > static_cast<std::uint32_t>(agreement_.mtu_bytes)) {
        continue;
      }
      agreement_.rounds.push_back(round(size));
    }
    const std::size_t left = agreement_.rounds.size();
    if (left > 0 && left < parameters_.sizes.size()) {
      agreement_.lowered.push_back(
          fmt::format("{} sizes instead of {} (a message of UD fits into one packet of {} bytes)",
                      left, parameters_.sizes.size(), agreement_.mtu_bytes));
    }
    if (left > 0) {
      return {};
    }
    return refuse(
        ErrorKind::Usage, fmt::format("--bytes {}", parameters_.sizes.front()),
        fmt::format("a message of UD fits into one packet of {} bytes", agreement_.mtu_bytes),
        "ask for less, or use RC");
  }

  int moderation(std::uint32_t size) const {
    const int usual = parameters_.post_list > 1   ? parameters_.post_list
                      : size > kMaxModeratedBytes ? 1
                                                  : kDefaultModeration;
    return std::min(parameters_.moderation.value_or(usual), depth(size));
  }

  int inlined(std::uint32_t size) const {
    const bool carries = parameters_.operation != verbs::Operation::Read &&
                         !verbs::is_atomic(parameters_.operation) &&
                         parameters_.client_memory.kind != Memory::Kind::Gpu &&
                         parameters_.server_memory.kind != Memory::Kind::Gpu;
    const bool worth = parameters_.metric == Metric::Latency && carries &&
                       size <= static_cast<std::uint32_t>(kDefaultInline);
    return parameters_.inline_bytes.value_or(worth ? kDefaultInline : 0);
  }

  // By default 64 MiB under way: 1.3 ms at 400 Gb/s, and no long wait at the end on a slow path.
  int depth(std::uint32_t size) const {
    constexpr std::uint32_t kMaxBytesInFlight = std::uint32_t{64} << 20;
    const int usual =
        std::max({4, parameters_.post_list,
                  static_cast<int>(kMaxBytesInFlight / std::max(size, std::uint32_t{1}))});
    return parameters_.depth ? depth_ : std::min(depth_, usual);
  }

  Plan round(std::uint32_t size) const {
    return {.operation = parameters_.operation,
            .metric = parameters_.metric,
            .transport = parameters_.transport,
            .message_bytes = size,
            .queue_pairs = parameters_.queue_pairs,
            .depth = depth(size),
            .moderation = moderation(size),
            .post_list = parameters_.post_list,
            .receive_depth = receive_depth_,
            .inline_bytes = inlined(size),
            .both_ways = parameters_.both_ways,
            .events = parameters_.events,
            .check = parameters_.check,
            .iterations = parameters_.iterations,
            .time = parameters_.time,
            .warm_up = parameters_.warm_up,
            .rate_bits_per_s = parameters_.rate_bits_per_s};
  }

  const Parameters& parameters_;
  const SideFacts& client_;
  const SideFacts& server_;
  const HostNames& names_;
  Agreement agreement_;
  int depth_ = 0;
  int receive_depth_ = 0;
};

// A queue pair cannot be made with 0 outstanding reads.
int reads(int asking, int answering) { return std::max(1, std::min(asking, answering)); }

}  // namespace

Result<Agreement> negotiate(const Parameters& parameters, const SideFacts& client,
                            const SideFacts& server, const HostNames& names) {
  return Negotiation(parameters, client, server, names).agree();
}

verbs::PathOptions path_of(const Parameters& parameters, const Agreement& agreement,
                           const SideFacts& own, const SideFacts& peer) {
  return {.mtu_bytes = agreement.mtu_bytes,
          .traffic_class = parameters.traffic_class,
          .flow_label = parameters.flow_label,
          .service_level = parameters.service_level,
          .hop_limit = kHopLimit,
          .timeout = parameters.timeout,
          .retries = parameters.retries,
          .reads_as_target = reads(peer.limits.reads_as_source, own.limits.reads_as_target),
          .reads_as_source = reads(own.limits.reads_as_source, peer.limits.reads_as_target)};
}

control::Json body_of(const Plan& plan) { return json::to_json(plan); }

}  // namespace chokepoint::rdma::session
