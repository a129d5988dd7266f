#include "rdma/commands/test_flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

namespace chokepoint::rdma {
namespace {

using perf::Metric;
using session::Parameters;
using session::PortWish;
using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr std::uint32_t kUsualBandwidthBytes = 65536;
constexpr std::uint32_t kUsualLatencyBytes = 2;
constexpr std::uint64_t kUsualWarmUp = 50;  // of latency: caches and page tables fill

std::optional<int> asked(std::int64_t value, std::int64_t unset) {
  return value == unset ? std::nullopt : std::optional(static_cast<int>(value));
}

verbs::Operation operation_of(const TestFlags& test, Verb verb) {
  using verbs::Operation;
  switch (verb) {
    case Verb::Write:
      return test.immediate ? Operation::WriteImmediate : Operation::Write;
    case Verb::Read:
      return Operation::Read;
    case Verb::Send:
      return Operation::Send;
    case Verb::Atomic:
      return test.compare_and_swap ? Operation::CompareAndSwap : Operation::FetchAndAdd;
  }
  return Operation::Write;
}

Result<Metric> metric_of(const std::string& text) {
  const Result<Metric> metric = session::metric_named(text);
  if (!metric) {
    return fail(ErrorKind::Usage, "", fmt::format("METRIC '{}'", text), "there is no such metric",
                "bw (bandwidth) or lat (latency)");
  }
  return metric;
}

// Long enough that a processor's clock and a fabric's congestion control have settled.
nanoseconds usual_time(const TestFlags& test, Metric metric) {
  if (test.sweep) {
    return seconds(1);
  }
  return metric == Metric::Bandwidth ? seconds(3) : seconds(2);
}

Result<std::vector<std::uint32_t>> sizes_of(const TestFlags& test, Verb verb, Metric metric) {
  if (test.sweep && (test.bytes.count > 0 || verb == Verb::Atomic)) {
    return fail(
        ErrorKind::Usage, "", "--sweep",
        verb == Verb::Atomic ? "an atomic operation has 8 bytes" : "--bytes names one size already",
        "leave one of them out");
  }
  if (test.sweep) {
    return session::sweep_sizes();
  }
  if (test.bytes.count > session::kLargestMessage) {
    return fail(ErrorKind::Usage, "", "--bytes", "a message has 1 GiB at most", "ask for less");
  }
  if (test.bytes.count > 0) {
    return std::vector{static_cast<std::uint32_t>(test.bytes.count)};
  }
  return std::vector{verb == Verb::Atomic          ? session::kAtomicBytes
                     : metric == Metric::Bandwidth ? kUsualBandwidthBytes
                                                   : kUsualLatencyBytes};
}

void shape(const TestFlags& test, Parameters& into) {
  into.queue_pairs = static_cast<int>(test.queue_pairs);
  into.depth = asked(test.depth, 0);
  into.receive_depth = asked(test.receive_depth, 0);
  into.moderation = asked(test.moderation, 0);
  into.post_list = static_cast<int>(test.post_list);
  into.inline_bytes = asked(test.inline_bytes, -1);
  into.mtu_bytes = asked(test.mtu, 0);
  into.both_ways = test.both;
  into.events = test.events;
  into.check = test.check;
  into.traffic_class = static_cast<int>(test.traffic_class);
  into.service_level = static_cast<int>(test.service_level);
  into.timeout = static_cast<int>(test.timeout);
  into.retries = static_cast<int>(test.retries);
  // What is checked has to have arrived in order.
  into.relaxed_ordering = !test.strict_order && !test.check;
  into.by_cm = test.cm;
  if (test.rate.bits_per_second > 0) {
    into.rate_bits_per_s = test.rate.bits_per_second;
  }
}

void length(const TestFlags& test, Parameters& into) {
  if (test.iterations > 0) {
    into.iterations = static_cast<std::uint64_t>(test.iterations);
  }
  if (test.time.count() > 0 || test.iterations == 0) {
    into.time = test.time.count() > 0 ? test.time : usual_time(test, into.metric);
  }
  const std::uint64_t usual = into.metric == Metric::Latency ? kUsualWarmUp : 0;
  into.warm_up = test.warm_up < 0 ? usual : static_cast<std::uint64_t>(test.warm_up);
}

// "mlx5_0" or "mlx5_0/2".
Result<PortWish> device_named(const std::string& text, std::string_view flag) {
  PortWish wish{.device = text};
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos) {
    return wish;
  }
  int port = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data() + slash + 1, end, port);
  if (error != std::errc() || at != end || port < 1 || port > 255) {
    return fail(ErrorKind::Usage, "", fmt::format("{} {}", flag, text), "no port of a device",
                "DEVICE or DEVICE/PORT, such as mlx5_0/1");
  }
  wish.device.resize(slash);
  wish.port = port;
  return wish;
}

}  // namespace

std::string_view name_of(Verb verb) {
  constexpr std::array kNames{"write", "read", "send", "atomic"};
  return kNames[static_cast<std::size_t>(verb)];
}

void define(cli::Flags& flags, TestFlags& test, Verb verb) {
  flags.group("What to measure")
      .option("bytes", &test.bytes, "SIZE", "of a message; 0: 64 KiB for bw, 2 bytes for lat")
      .toggle("sweep", &test.sweep, "every power of two from 2 bytes to 8 MiB, one after another")
      .option("time,t", &test.time, "TIME",
              "how long each size is measured; 0: 3 s for bw, 2 s for lat, 1 s in a sweep")
      .option("iterations,n", &test.iterations, "N", "of each queue pair, instead of a time", 0,
              1'000'000'000'000)
      .toggle("both,b", &test.both, "both ways at once (bw)")
      .option("queue-pairs,q", &test.queue_pairs, "N", "connections, all on one thread", 1, 2048)
      .choice("transport", &test.transport, {"rc", "uc", "ud"}, "how queue pairs are connected");
  if (verb == Verb::Write) {
    flags.toggle("immediate", &test.immediate, "writes that tell the peer of themselves");
  }
  if (verb == Verb::Atomic) {
    flags.toggle("compare-and-swap", &test.compare_and_swap, "instead of fetch-and-add");
  }
  flags.toggle("check", &test.check, "hold what arrives against what was sent")
      .toggle("events,e", &test.events, "sleep for completions instead of polling")
      .option("warm-up", &test.warm_up, "N", "iterations that do not count; -1: 50 for lat", -1,
              1'000'000'000)
      .group("How to send")
      .option("depth", &test.depth, "N", "requests under way on a queue pair; 0: 128, or 64 MiB", 0,
              65536)
      .option("receive-depth", &test.receive_depth, "N", "receives posted; 0: 512", 0, 65536)
      .option("moderation", &test.moderation, "N",
              "every how many requests complete aloud; 0: 100, above 8 KiB 1", 0, 65536)
      .option("post-list", &test.post_list, "N", "requests handed to the device at once", 1, 65536)
      .option("inline", &test.inline_bytes, "BYTES",
              "messages up to this travel inside the request; -1: 220 for lat, else 0", -1, 4096)
      .option("rate", &test.rate, "RATE", "no faster than this, all queue pairs together")
      .toggle("strict-order", &test.strict_order, "no relaxed ordering on PCIe")
      .group("Which way")
      .option("device,d", &test.device, "DEVICE",
              "here, or DEVICE/PORT, if not the one that is "
              "on the way to the peer")
      .option("peer-device", &test.peer_device, "DEVICE", "the same there")
      .option("gid-index", &test.gid_index, "N", "of the port here; -1: chosen", -1, 65535)
      .option("peer-gid-index", &test.peer_gid_index, "N", "of the port there; -1: chosen", -1,
              65535)
      .choice("gid-family", &test.gid_family, {"auto", "ipv4", "ipv6"},
              "of the GIDs; auto: as the control connection")
      .choice("roce", &test.roce, {"auto", "v1", "v2"}, "version; auto: v2 where there is one")
      .option("mtu", &test.mtu, "BYTES", "of a packet; 0: the lower of both ports", 0, 4096)
      .option("traffic-class", &test.traffic_class, "N", "DSCP and ECN bits of each packet", 0, 255)
      .option("service-level", &test.service_level, "N", "priority of each packet", 0, 15)
      .option("ack-timeout", &test.timeout, "N", "4.096 µs × 2^N until a packet is sent again", 1,
              31)
      .option("retries", &test.retries, "N", "how often it is, before the test fails", 0, 7)
      .toggle("cm", &test.cm, "connect by rdma_cm")
      .group("Where the memory is")
      .option("memory", &test.memory, "KIND", "here: host, huge (pages) or gpu:N")
      .option("peer-memory", &test.peer_memory, "KIND", "there")
      .group("What is enough")
      .option("min-mbps", &test.min_mbps, "MBPS", "exit with 3 below this average (bw)")
      .option("max-us", &test.max_us, "US", "exit with 3 above this median (lat)");
}

Result<Parameters> parameters_of(const TestFlags& test, Verb verb) {
  TRY(const Metric metric, metric_of(test.metric));
  Parameters parameters{.operation = operation_of(test, verb), .metric = metric};
  const Result<std::vector<std::uint32_t>> sizes = sizes_of(test, verb, metric);
  const Result<session::Memory> memory = session::memory_named(test.memory);
  const Result<session::Memory> peer_memory = session::memory_named(test.peer_memory);
  const Result<PortWish> server = device_named(test.peer_device, "--peer-device");
  if (!sizes || !server) {
    return std::unexpected(sizes ? server.error() : sizes.error());
  }
  if (!memory || !peer_memory) {
    return std::unexpected(memory ? peer_memory.error() : memory.error());
  }
  std::string transport = test.transport;
  std::ranges::transform(transport, transport.begin(), ::toupper);
  parameters.transport = verbs::transport_named(transport).value_or(verbs::Transport::Rc);
  parameters.sizes = *sizes;
  parameters.client_memory = *memory;
  parameters.server_memory = *peer_memory;
  parameters.server_port = *server;
  parameters.server_port.gid_index = asked(test.peer_gid_index, -1);
  shape(test, parameters);
  length(test, parameters);
  const Result<> sound = session::check(parameters);
  return sound ? Result<Parameters>(std::move(parameters)) : std::unexpected(sound.error());
}

Result<PortWish> own_wish(const TestFlags& test) {
  Result<PortWish> wish = device_named(test.device, "--device");
  if (!wish) {
    return wish;
  }
  wish->gid_index = asked(test.gid_index, -1);
  if (test.gid_family != "auto") {
    wish->family = test.gid_family == "ipv4" ? net::Family::Ipv4 : net::Family::Ipv6;
  }
  if (test.roce != "auto") {
    wish->type = test.roce == "v1" ? verbs::GidType::RoceV1 : verbs::GidType::RoceV2;
  }
  return wish;
}

}  // namespace chokepoint::rdma
