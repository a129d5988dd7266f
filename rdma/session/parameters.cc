#include "rdma/session/parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <utility>

#include "base/control/bodies.h"
#include "base/control/fields.h"

namespace chokepoint::rdma::session {
namespace {

using control::Fields;
using control::Json;
using control::or_null;
using perf::Metric;
using std::chrono::nanoseconds;
using verbs::GidType;
using verbs::Operation;

template <class Value, std::size_t N>
using Names = std::array<std::pair<Value, std::string_view>, N>;

constexpr Names<Operation, 6> kOperations{{{Operation::Write, "write"},
                                           {Operation::WriteImmediate, "write_immediate"},
                                           {Operation::Read, "read"},
                                           {Operation::Send, "send"},
                                           {Operation::FetchAndAdd, "fetch_and_add"},
                                           {Operation::CompareAndSwap, "compare_and_swap"}}};
constexpr Names<Metric, 2> kMetrics{{{Metric::Bandwidth, "bw"}, {Metric::Latency, "lat"}}};
constexpr Names<GidType, 3> kGidTypes{{{GidType::InfiniBand, "InfiniBand"},
                                       {GidType::RoceV1, "RoCE v1"},
                                       {GidType::RoceV2, "RoCE v2"}}};

constexpr int kMaxGpus = 64;

template <class Value, std::size_t N>
std::string_view name_in(const Names<Value, N>& names, Value value) {
  const auto at = std::ranges::find(names, value, &std::pair<Value, std::string_view>::first);
  return at == names.end() ? std::string_view() : at->second;
}

template <class Value, std::size_t N>
Result<Value> value_in(const Names<Value, N>& names, std::string_view name, std::string_view what) {
  const auto at = std::ranges::find(names, name, &std::pair<Value, std::string_view>::second);
  if (at == names.end()) {
    return fail(ErrorKind::Malformed, "read message", what, "no name that is known");
  }
  return at->first;
}

constexpr std::size_t kMaxWordLength = 31;
constexpr std::size_t kMaxSizes = 64;
constexpr int kMaxSweepPower = 23;
constexpr int kMaxQueuePairs = 2048;  // whose addresses fit into a message
constexpr int kMaxDepth = 65536;
constexpr int kMaxInline = 4096;
constexpr std::int64_t kMaxIterations = 1'000'000'000'000;
constexpr std::int64_t kMaxTime = std::int64_t{86'400'000'000'000} * 30;  // ns: 30 days

std::optional<int> maybe_int(Fields& in, const char* name, int least, int most) {
  const std::optional<std::int64_t> value = in.maybe_integer(name, least, most);
  return value ? std::optional(static_cast<int>(*value)) : std::nullopt;
}

int integer(Fields& in, const char* name, int least, int most) {
  return static_cast<int>(in.integer(name, least, most));
}

Result<std::uint32_t> size_in(const Json& each) {
  if (!each.is_number_unsigned() || each.get<std::uint64_t>() < kSmallestMessage ||
      each.get<std::uint64_t>() > kLargestMessage) {
    return fail(ErrorKind::Malformed, "read message", "rdma request 'sizes'",
                fmt::format("wanted sizes from {} to {}", kSmallestMessage, kLargestMessage));
  }
  return each.get<std::uint32_t>();
}

Result<> read_names(Fields& in, Parameters& into) {
  const Result<verbs::Operation> operation = operation_named(in.text("operation", kMaxWordLength));
  const Result<perf::Metric> metric = metric_named(in.text("metric", kMaxWordLength));
  const Result<verbs::Transport> transport =
      verbs::transport_named(in.text("transport", kMaxWordLength));
  const Result<Memory> client = memory_named(in.text("client_memory", kMaxWordLength));
  const Result<Memory> server = memory_named(in.text("server_memory", kMaxWordLength));
  if (!operation || !metric) {
    return std::unexpected(operation ? metric.error() : operation.error());
  }
  if (!transport || !client || !server) {
    return std::unexpected(!transport ? transport.error()
                           : !client  ? client.error()
                                      : server.error());
  }
  into.operation = *operation;
  into.metric = *metric;
  into.transport = *transport;
  into.client_memory = *client;
  into.server_memory = *server;
  return {};
}

void read_shape(Fields& in, Parameters& into) {
  into.queue_pairs = integer(in, "queue_pairs", 1, kMaxQueuePairs);
  into.depth = maybe_int(in, "depth", 1, kMaxDepth);
  into.receive_depth = maybe_int(in, "receive_depth", 1, kMaxDepth);
  into.moderation = maybe_int(in, "moderation", 1, kMaxDepth);
  into.post_list = integer(in, "post_list", 1, kMaxDepth);
  into.inline_bytes = maybe_int(in, "inline_bytes", 0, kMaxInline);
  into.mtu_bytes = maybe_int(in, "mtu_bytes", 256, 4096);
  into.both_ways = in.boolean("both_ways");
  into.events = in.boolean("events");
  into.check = in.boolean("check");
  into.relaxed_ordering = in.boolean("relaxed_ordering");
  into.by_cm = in.boolean("by_cm");
}

void read_length(Fields& in, Parameters& into) {
  if (const auto iterations = in.maybe_integer("iterations", 1, kMaxIterations)) {
    into.iterations = static_cast<std::uint64_t>(*iterations);
  }
  if (const auto time = in.maybe_integer("time_ns", 1, kMaxTime)) {
    into.time = nanoseconds(*time);
  }
  into.warm_up = static_cast<std::uint64_t>(in.integer("warm_up", 0, kMaxIterations));
  into.rate_bits_per_s = in.maybe_number("rate_bits_per_s", 1000, 1e15);
}

void read_path(Fields& in, Parameters& into) {
  into.traffic_class = integer(in, "traffic_class", 0, 255);
  into.service_level = integer(in, "service_level", 0, 15);
  into.timeout = integer(in, "timeout", 1, 31);
  into.retries = integer(in, "retries", 0, 7);
}

std::unexpected<Error> mistake(std::string_view subject, const std::string& reason,
                               const std::string& next_step) {
  return fail(ErrorKind::Usage, "", subject, reason, next_step);
}

Result<> check_operation(const Parameters& parameters) {
  if (!verbs::carries(parameters.transport, parameters.operation)) {
    return mistake(fmt::format("{} over {}", name_of(parameters.operation),
                               verbs::name_of(parameters.transport)),
                   "this transport does not carry it",
                   parameters.transport == verbs::Transport::Ud ? "UD carries send alone; try RC"
                                                                : "RC carries every operation");
  }
  if (parameters.by_cm && parameters.transport != verbs::Transport::Rc) {
    return mistake(fmt::format("--cm over {}", verbs::name_of(parameters.transport)),
                   "rdma_cm connects queue pairs of RC alone", "leave --cm out, or choose RC");
  }
  if (is_atomic(parameters.operation) &&
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

std::string_view name_of(Operation operation) { return name_in(kOperations, operation); }

Result<Operation> operation_named(std::string_view name) {
  return value_in(kOperations, name, "'operation'");
}

std::string_view name_of(Metric metric) { return name_in(kMetrics, metric); }

Result<Metric> metric_named(std::string_view name) { return value_in(kMetrics, name, "'metric'"); }

std::string_view name_of(GidType type) { return name_in(kGidTypes, type); }

Result<GidType> gid_type_named(std::string_view name) {
  return value_in(kGidTypes, name, "'gid_type'");
}

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
  int gpu = -1;
  if (text.starts_with(kGpu)) {
    const auto [end, error] =
        std::from_chars(text.data() + kGpu.size(), text.data() + text.size(), gpu);
    gpu = error == std::errc() && end == text.data() + text.size() ? gpu : -1;
  }
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

Json body_of(const Parameters& parameters) {
  return {{"operation", name_of(parameters.operation)},
          {"metric", name_of(parameters.metric)},
          {"transport", verbs::name_of(parameters.transport)},
          {"sizes", parameters.sizes},
          {"queue_pairs", parameters.queue_pairs},
          {"depth", or_null(parameters.depth)},
          {"receive_depth", or_null(parameters.receive_depth)},
          {"moderation", or_null(parameters.moderation)},
          {"post_list", parameters.post_list},
          {"inline_bytes", or_null(parameters.inline_bytes)},
          {"mtu_bytes", or_null(parameters.mtu_bytes)},
          {"both_ways", parameters.both_ways},
          {"events", parameters.events},
          {"check", parameters.check},
          {"iterations", or_null(parameters.iterations)},
          {"time_ns", parameters.time ? Json(parameters.time->count()) : Json()},
          {"warm_up", parameters.warm_up},
          {"rate_bits_per_s", or_null(parameters.rate_bits_per_s)},
          {"traffic_class", parameters.traffic_class},
          {"service_level", parameters.service_level},
          {"timeout", parameters.timeout},
          {"retries", parameters.retries},
          {"relaxed_ordering", parameters.relaxed_ordering},
          {"by_cm", parameters.by_cm},
          {"client_memory", text_of(parameters.client_memory)},
          {"server_memory", text_of(parameters.server_memory)},
          {"server_port", body_of(parameters.server_port)}};
}

Result<Parameters> parameters_in(const Json& body) {
  Fields in(body, "rdma request");
  Parameters parameters;
  TRY(read_names(in, parameters));
  read_shape(in, parameters);
  read_length(in, parameters);
  read_path(in, parameters);
  const Result<std::vector<std::uint32_t>> sizes =
      control::list_in<std::uint32_t>(body, "sizes", size_in);
  const Result<PortWish> port = port_wish_in(in.object("server_port"));
  if (!sizes || !port) {
    return std::unexpected(sizes ? port.error() : sizes.error());
  }
  if (sizes->empty() || sizes->size() > kMaxSizes) {
    return fail(ErrorKind::Malformed, "read message", "rdma request 'sizes'",
                fmt::format("wanted 1 to {} of them", kMaxSizes));
  }
  parameters.sizes = *sizes;
  parameters.server_port = *port;
  return in.finish(std::move(parameters));
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
  const int depth = parameters.depth.value_or(kMaxDepth);
  if (parameters.post_list > depth) {
    return mistake(
        "--post-list",
        fmt::format("a post of {} does not fit into a depth of {}", parameters.post_list, depth),
        "give a larger --depth");
  }
  if (parameters.moderation.value_or(1) > depth) {
    return mistake("--moderation",
                   fmt::format("with every {}th request aloud a depth of {} would fill up in "
                               "silence",
                               *parameters.moderation, depth),
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
  if (limits.rate_bits_per_s) {
    return control::check_rate(limits, parameters.rate_bits_per_s.value_or(1e15));
  }
  return {};
}

}  // namespace chokepoint::rdma::session
