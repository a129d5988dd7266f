#include "rdma/session/parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/control/limits.h"
#include "base/json/codec.h"
#include "base/sys/number.h"

namespace chokepoint {

template <>
struct TextForm<rdma::session::Memory> {
  static constexpr std::string_view kWhat = "host, huge or gpu:N";
  static std::string text(const rdma::session::Memory& memory) { return text_of(memory); }
  static std::optional<rdma::session::Memory> parsed(std::string_view text) {
    const Result<rdma::session::Memory> memory = rdma::session::memory_named(text);
    return memory ? std::optional(*memory) : std::nullopt;
  }
};

template <>
struct TextForm<rdma::session::Choice<net::Family>> {
  using Choice = rdma::session::Choice<net::Family>;
  static constexpr std::string_view kWhat = "ipv4 or ipv6";
  static std::string text(const Choice& choice) {
    return choice ? std::string(net::name_of(*choice)) : std::string();
  }
  static std::optional<Choice> parsed(std::string_view text) {
    for (const net::Family family : {net::Family::Ipv4, net::Family::Ipv6}) {
      if (net::name_of(family) == text) {
        return Choice{family};
      }
    }
    return text.empty() ? std::optional(Choice{}) : std::nullopt;
  }
};

template <Named E>
struct TextForm<rdma::session::Choice<E>> {
  static constexpr std::string_view kWhat = EnumNames<E>::kWhat;
  static std::string text(const rdma::session::Choice<E>& choice) {
    return choice ? std::string(name_of(*choice)) : std::string();
  }
  static std::optional<rdma::session::Choice<E>> parsed(std::string_view text) {
    const rdma::session::Choice<E> choice = named<E>(text);
    return choice || text.empty() ? std::optional(choice) : std::nullopt;
  }
};

template <>
struct Fields<rdma::session::PortRequest> {
  using W = rdma::session::PortRequest;
  static constexpr FieldList kList{
      field("device", &W::device, "name of the device; empty: chosen")
          .up_to_bytes(rdma::session::kMaxNameLength),
      field("port", &W::port, "port of the device; null: chosen").between(1, 255),
      field("gid_index", &W::gid_index, "index in the port's GID table; null: chosen")
          .between(0, 65535),
      field("family", &W::family, "IPv4 or IPv6, of the GID; empty: either"),
      field("gid_type", &W::type, "type of the GID; empty: any")};
};

template <>
struct Fields<rdma::session::Parameters> {
  using P = rdma::session::Parameters;
  static constexpr int kMaxDepth = 65536;
  static constexpr double kMaxIterations = 1e12;
  static constexpr FieldList kList{
      field("operation", &P::operation, "what each request does"),
      field("metric", &P::metric, "bandwidth or latency"),
      field("transport", &P::transport, "how queue pairs are connected"),
      field("sizes", &P::sizes, "bytes of a message; one round each")
          .between(rdma::session::kSmallestMessage, rdma::session::kLargestMessage)
          .up_to_items(64),
      field("queue_pairs", &P::queue_pairs, "number of connections")
          .between(1, rdma::session::kMaxQueuePairs),
      field("depth", &P::depth, "requests under way on a queue pair; null: chosen")
          .between(1, kMaxDepth),
      field("receive_depth", &P::receive_depth, "receives posted on a queue pair; null: chosen")
          .between(1, kMaxDepth),
      field("moderation", &P::moderation, "requests per signaled completion; null: chosen")
          .between(1, kMaxDepth),
      field("post_list", &P::post_list, "requests of one post").between(1, kMaxDepth),
      field("inline_bytes", &P::inline_bytes, "largest message sent inline; null: chosen")
          .between(0, 4096),
      field("mtu_bytes", &P::mtu_bytes, "largest packet; null: the lower of both ports")
          .between(256, 4096),
      field("both_ways", &P::both_ways, "whether both directions run at once"),
      field("events", &P::events, "whether threads sleep until a completion, instead of polling"),
      field("check", &P::check, "whether what arrives is compared with what was sent"),
      field("iterations", &P::iterations,
            "requests of each queue pair; null: the time ends the test")
          .between(1, kMaxIterations),
      field("time_ns", &P::time, "length of each round; null: the iterations end the test")
          .between(1, control::kMaxTestNs),
      field("warm_up", &P::warm_up, "first iterations, which are not measured")
          .at_most(kMaxIterations),
      field("rate_bits_per_s", &P::rate_bits_per_s, "limit of all queue pairs together; null: none")
          .between(control::kMinPaceBitsPerS, control::kMaxBitsPerS),
      field("traffic_class", &P::traffic_class, "DSCP and ECN bits of each packet").between(0, 255),
      field("flow_label", &P::flow_label, "IPv6 flow label of each packet of both sides")
          .at_most(rdma::session::kMaxFlowLabel)
          .or_default(),
      field("service_level", &P::service_level, "priority of each packet").between(0, 15),
      field("timeout", &P::timeout, "wait for an acknowledgement: 4.096 µs × 2^timeout")
          .between(1, 31),
      field("retries", &P::retries, "retransmissions before a request fails").between(0, 7),
      field("relaxed_ordering", &P::relaxed_ordering,
            "whether writes over PCIe may overtake each other"),
      field("by_cm", &P::by_cm, "whether rdma_cm makes the connections"),
      field("client_memory", &P::client_memory, "where the client's buffer lies"),
      field("server_memory", &P::server_memory, "where the server's buffer lies"),
      field("server_port", &P::server_port, "which port the server should use")};

  static const char* wrong(const P& parameters) {
    return parameters.sizes.empty() ? "at least one size" : nullptr;
  }
};

}  // namespace chokepoint

namespace chokepoint::rdma::session {
namespace {

using perf::Metric;

constexpr int kMaxGpus = 64;
constexpr int kMaxSweepPower = 23;

std::unexpected<Error> mistake(std::string_view subject, const std::string& reason,
                               const std::string& next_step) {
  return fail(ErrorKind::Usage, "", subject, reason, next_step);
}

Result<> check_operation(const Parameters& parameters) {
  if (!verbs::carries(parameters.transport, parameters.operation)) {
    return mistake(
        fmt::format("{} over {}", name_of(parameters.operation), name_of(parameters.transport)),
        "this transport does not carry it",
        parameters.transport == verbs::Transport::Ud ? "UD carries send alone; try RC"
                                                     : "RC carries every operation");
  }
  if (parameters.by_cm && parameters.flow_label != 0) {
    return mistake("--flow-label", "rdma_cm chooses the flow label of its connections",
                   "leave out --cm or --flow-label");
  }
  if (parameters.by_cm && parameters.transport != verbs::Transport::Rc) {
    return mistake(fmt::format("--cm over {}", name_of(parameters.transport)),
                   "rdma_cm connects queue pairs of RC alone", "leave --cm out, or choose RC");
  }
  if (verbs::is_atomic(parameters.operation) &&
      std::ranges::any_of(parameters.sizes, [](auto size) { return size != kAtomicBytes; })) {
    return mistake("--bytes", "an atomic operation has 8 bytes", "leave it out");
  }
  if (parameters.both_ways && parameters.metric == perf::Metric::Latency) {
    return mistake("--both", "a latency test has one request under way", "leave it out");
  }
  if (parameters.check && parameters.metric == perf::Metric::Latency) {
    return mistake("--check", "looking at what arrives would be part of the latency",
                   "check with bw");
  }
  if (parameters.metric == perf::Metric::Latency && parameters.queue_pairs > 1) {
    return mistake("--queue-pairs", "a latency test has one queue pair", "leave it out");
  }
  return {};
}

}  // namespace

std::string text_of(const Memory& memory) {
  switch (memory.kind) {
    case Memory::Kind::Host:
      return "host";
    case Memory::Kind::Huge:
      return "huge";
    case Memory::Kind::Gpu:
      return fmt::format("gpu:{}", memory.gpu);
  }
  return "";
}

Result<Memory> memory_named(std::string_view text) {
  constexpr std::string_view kGpu = "gpu:";
  if (text == "host" || text == "huge") {
    return Memory{.kind = text == "host" ? Memory::Kind::Host : Memory::Kind::Huge};
  }
  const int gpu =
      text.starts_with(kGpu) ? sys::parse_number<int>(text.substr(kGpu.size())).value_or(-1) : -1;
  if (gpu < 0 || gpu >= kMaxGpus) {
    return fail(ErrorKind::Usage, "", fmt::format("memory '{}'", text), "there is no such memory",
                "host, huge (huge pages) or gpu:N");
  }
  return Memory{.kind = Memory::Kind::Gpu, .gpu = gpu};
}

std::vector<std::uint32_t> sweep_sizes() {
  std::vector<std::uint32_t> sizes;
  for (int power = 1; power <= kMaxSweepPower; ++power) {
    sizes.push_back(std::uint32_t{1} << power);
  }
  return sizes;
}

control::Json body_of(const Parameters& parameters) { return json::to_json(parameters); }

Result<Parameters> parameters_in(const control::Json& body) {
  return json::from_json<Parameters>(body, "rdma request");
}

Result<> check(const Parameters& parameters) {
  TRY(check_operation(parameters));
  if (parameters.iterations.has_value() == parameters.time.has_value()) {
    return mistake("--iterations, --time", "one of them ends the test", "give only one of them");
  }
  const bool on_gpu = parameters.client_memory.kind == Memory::Kind::Gpu ||
                      parameters.server_memory.kind == Memory::Kind::Gpu;
  if (parameters.inline_bytes.value_or(0) > 0 && on_gpu) {
    return mistake("--inline",
                   "the processor copies what goes inline, and cannot read a GPU's memory",
                   "leave it out");
  }
  const int mtu = parameters.mtu_bytes.value_or(256);
  if (mtu < 256 || mtu > 4096 || !std::has_single_bit(static_cast<unsigned>(mtu))) {
    return mistake(fmt::format("--mtu {}", mtu), "RDMA has no such MTU",
                   "256, 512, 1024, 2048 or 4096");
  }
  const int depth = parameters.depth.value_or(Fields<Parameters>::kMaxDepth);
  if (parameters.post_list > depth) {
    return mistake(
        "--post-list",
        fmt::format("a post of {} does not fit into a depth of {}", parameters.post_list, depth),
        "give a larger --depth");
  }
  if (parameters.moderation.value_or(1) > depth) {
    return mistake(
        fmt::format("--moderation {}", *parameters.moderation),
        fmt::format("a queue of depth {} fills up before a completion is signaled", depth),
        "give a larger --depth");
  }
  return {};
}

Result<> check(const Parameters& parameters, const control::Limits& limits) {
  const auto rounds = static_cast<std::int64_t>(parameters.sizes.size());
  if (parameters.time && *parameters.time > limits.longest_test / rounds) {
    return control::check_time(limits, *parameters.time * rounds);
  }
  if (parameters.queue_pairs > limits.streams) {
    return mistake(fmt::format("--queue-pairs {}", parameters.queue_pairs),
                   fmt::format("the server grants at most {}", limits.streams),
                   "ask for less, or raise it with --max-streams of 'chokepoint serve'");
  }
  return control::check_pace(limits, parameters.rate_bits_per_s);
}

}  // namespace chokepoint::rdma::session
