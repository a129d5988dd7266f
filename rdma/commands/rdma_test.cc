#include "rdma/commands/rdma_test.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "base/cli/text.h"
#include "base/control/client.h"
#include "base/sys/number.h"
#include "base/sys/root.h"
#include "base/sys/signals.h"
#include "measure/baseline/baseline.h"
#include "measure/trials/trials.h"
#include "rdma/commands/rdma_test_report.h"

namespace chokepoint::rdma {
namespace {

using perf::Metric;
using session::Parameters;
using session::PortRequest;
using session::Round;
using session::Trial;
using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr std::uint32_t kDefaultBandwidthBytes = 65536;
constexpr std::uint32_t kDefaultLatencyBytes = 2;
constexpr std::uint64_t kDefaultWarmUp = 50;  // of latency tests: fills caches and page tables

std::optional<int> unless(std::int64_t value, std::int64_t unset) {
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
  const std::optional<Metric> metric = named<Metric>(text);
  return metric ? Result<Metric>(*metric)
                : fail(ErrorKind::Usage, "", fmt::format("METRIC '{}'", text),
                       "there is no such metric", "bw (bandwidth) or lat (latency)");
}

// Each test of a flow is a whole one, and its rate that of one flow alone.
Result<> check_flows(const TestFlags& test, Metric metric) {
  const std::array<std::pair<const char*, bool>, 9> others{
      {{"lat", metric == Metric::Latency},
       {"--sweep", test.sweep},
       {"--both", test.both},
       {"--queue-pairs", test.queue_pairs != 1},
       {"--transport", test.transport != "rc"},
       {"--iterations", test.iterations > 0},
       {"--flow-label", test.flow_label != 0},
       {"--cm", test.cm},
       {"--min-mbps", test.min_mbps > 0}}};
  if (test.flows < session::kMinFlows) {
    return fail(
        ErrorKind::Usage, "", "--flows",
        fmt::format("must be {} or more: of fewer a slow group may be chance", session::kMinFlows),
        "24 show one of two to four links, 64 one of eight");
  }
  for (const auto& [other, is_given] : others) {
    if (is_given) {
      return fail(ErrorKind::Usage, "", fmt::format("--flows, {}", other),
                  "--flows tests the bandwidth of one queue pair after the other, by RC",
                  "leave one of them out");
    }
  }
  return {};
}

// Long enough for the processor's clock and the fabric's congestion control to settle.
nanoseconds default_time(const TestFlags& test, Metric metric) {
  if (test.flows > 0) {
    return std::chrono::milliseconds(250);
  }
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
                     : metric == Metric::Bandwidth ? kDefaultBandwidthBytes
                                                   : kDefaultLatencyBytes};
}

void set_shape(const TestFlags& test, Parameters& into) {
  into.queue_pairs = static_cast<int>(test.queue_pairs);
  into.depth = unless(test.depth, 0);
  into.receive_depth = unless(test.receive_depth, 0);
  into.moderation = unless(test.moderation, 0);
  into.post_list = static_cast<int>(test.post_list);
  into.inline_bytes = unless(test.inline_bytes, -1);
  into.mtu_bytes = unless(test.mtu, 0);
  into.both_ways = test.both;
  into.events = test.events;
  into.check = test.check;
  into.traffic_class = static_cast<int>(test.traffic_class);
  into.flow_label = static_cast<std::uint32_t>(test.flow_label);
  into.service_level = static_cast<int>(test.service_level);
  into.timeout = static_cast<int>(test.timeout);
  into.retries = static_cast<int>(test.retries);
  // A check needs messages that arrive in order.
  into.relaxed_ordering = !test.strict_order && !test.check;
  into.by_cm = test.cm;
  if (test.rate.bits_per_second > 0) {
    into.rate_bits_per_s = test.rate.bits_per_second;
  }
}

void set_length(const TestFlags& test, Parameters& into) {
  if (test.iterations > 0) {
    into.iterations = static_cast<std::uint64_t>(test.iterations);
  }
  if (test.time.count() > 0 || test.iterations == 0) {
    into.time = test.time.count() > 0 ? test.time : default_time(test, into.metric);
  }
  const std::uint64_t usual = into.metric == Metric::Latency ? kDefaultWarmUp : 0;
  into.warm_up = test.warm_up < 0 ? usual : static_cast<std::uint64_t>(test.warm_up);
}

// "mlx5_0" or "mlx5_0/2".
Result<PortRequest> device_named(const std::string& text, std::string_view flag) {
  PortRequest wish{.device = text};
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos) {
    return wish;
  }
  const auto port = sys::parse_number<int>(std::string_view(text).substr(slash + 1));
  if (!port || *port < 1 || *port > 255) {
    return fail(ErrorKind::Usage, "", fmt::format("{} {}", flag, text), "no port of a device",
                "DEVICE or DEVICE/PORT, such as mlx5_0/1");
  }
  wish.device.resize(slash);
  wish.port = port;
  return wish;
}

std::string_view purpose_of(Verb verb) {
  switch (verb) {
    case Verb::Write:
      return "bandwidth or latency of RDMA writes into the peer's memory";
    case Verb::Read:
      return "bandwidth or latency of RDMA reads from the peer's memory";
    case Verb::Send:
      return "bandwidth or latency of RDMA messages to the peer";
    case Verb::Atomic:
      return "rate or latency of RDMA atomic operations on the peer's memory";
  }
  return "";
}

void show_progress(const cli::Context& context, const Trial& trial) {
  if (context.err_terminal.interactive && !context.quiet) {
    fmt::print(context.err, "{} at {} to {} at {}, MTU {} …\n", trial.client.device,
               session::text_of(trial.client.gid), cli::printable(trial.server.device),
               session::text_of(trial.server.gid), trial.agreement.mtu_bytes);
  }
}

// Of a sweep.
void show_progress(const cli::Context& context, const Round& round) {
  if (!context.err_terminal.interactive || context.quiet) {
    return;
  }
  const documents::RdmaFigures figures = figures_of(round);
  if (figures.latency_us) {
    fmt::print(context.err, "{:>8} B  median {:.2f} µs\n", round.plan.message_bytes,
               figures.latency_us->median);
  } else if (figures.average_mbps) {
    fmt::print(context.err, "{:>8} B  {}\n", round.plan.message_bytes,
               math::format_rate(*figures.average_mbps * 1e6));
  }
}

bool damaged(const Trial& trial) {
  return std::ranges::any_of(trial.rounds, [](const Round& round) {
    return figures_of(round).mismatches.value_or(0) > 0;
  });
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
              "how long each size is measured; 0: 3 s for bw, 2 s for lat, 1 s in a sweep, 250 ms "
              "for each flow")
      .option("flows", &test.flows, "N",
              "test this many flow labels, each twice, and report those that are slower, as over a "
              "bad member of a bundle (bw)",
              0, session::kMaxFlows)
      .option("iterations,n", &test.iterations, "N", "of each queue pair, instead of a time", 0,
              1'000'000'000'000)
      .toggle("both", &test.both, "both directions at once (bw)")
      .option("queue-pairs", &test.queue_pairs, "N", "connections, all on one thread", 1,
              session::kMaxQueuePairs)
      .choice("transport", &test.transport, {"rc", "uc", "ud"}, "how queue pairs are connected");
  if (verb == Verb::Write) {
    flags.toggle("immediate", &test.immediate, "writes with immediate data, which notify the peer");
  }
  if (verb == Verb::Atomic) {
    flags.toggle("compare-and-swap", &test.compare_and_swap, "instead of fetch-and-add");
  }
  flags.toggle("check", &test.check, "verify the received data")
      .toggle("events,e", &test.events, "sleep for completions instead of polling")
      .option("warm-up", &test.warm_up, "N", "warm-up iterations, not counted; -1: 50 for lat", -1,
              1'000'000'000)
      .group("How to send")
      .option("depth", &test.depth, "N", "outstanding requests per queue pair; 0: 128, or 64 MiB",
              0, 65536)
      .option("receive-depth", &test.receive_depth, "N", "receives posted; 0: 512", 0, 65536)
      .option("moderation", &test.moderation, "N",
              "signal one completion per N requests; 0: 100, above 8 KiB 1", 0, 65536)
      .option("post-list", &test.post_list, "N", "requests handed to the device at once", 1, 65536)
      .option("inline", &test.inline_bytes, "BYTES",
              "send messages up to this size inline; -1: 220 for lat, else 0", -1, 4096)
      .option("rate", &test.rate, "RATE", "maximum rate of all queue pairs together")
      .toggle("strict-order", &test.strict_order, "no relaxed ordering on PCIe")
      .group("Path")
      .option("device,d", &test.device, "DEVICE",
              "local device, or DEVICE/PORT; default: the one on the path to the peer")
      .option("peer-device", &test.peer_device, "DEVICE", "the same at the peer")
      .option("gid-index", &test.gid_index, "N", "of the port here; -1: chosen", -1, 65535)
      .option("peer-gid-index", &test.peer_gid_index, "N", "of the port there; -1: chosen", -1,
              65535)
      .choice("gid-family", &test.gid_family, {"auto", "ipv4", "ipv6"},
              "of the GIDs; auto: as the control connection")
      .choice("roce", &test.roce, {"auto", "v1", "v2"}, "version; auto: v2 where there is one")
      .option("mtu", &test.mtu, "BYTES", "of a packet; 0: the lower of both ports", 0, 4096)
      .option("traffic-class", &test.traffic_class, "N", "DSCP and ECN bits of each packet", 0, 255)
      .option("flow-label", &test.flow_label, "N",
              "by RoCE v2 the UDP source port follows from it, and so the member of a bundle; 0: "
              "the card's choice",
              0, session::kMaxFlowLabel)
      .option("service-level", &test.service_level, "N", "priority of each packet", 0, 15)
      .option("ack-timeout", &test.timeout, "N",
              "timeout of 4.096 µs × 2^N before a packet is retransmitted", 1, 31)
      .option("retries", &test.retries, "N", "number of retransmissions before the test fails", 0,
              7)
      .toggle("cm", &test.cm, "connect by rdma_cm")
      .group("Memory")
      .option("memory", &test.memory, "KIND", "here: host, huge (pages) or gpu:N")
      .option("peer-memory", &test.peer_memory, "KIND", "there")
      .group("Requirements")
      .option("min-mbps", &test.min_mbps, "MBPS", "exit with 3 below this average (bw)")
      .option("max-us", &test.max_us, "US", "exit with 3 above this median (lat)");
}

Result<Parameters> parameters_of(const TestFlags& test, Verb verb) {
  TRY(const Metric metric, metric_of(test.metric));
  TRY(test.flows > 0 ? check_flows(test, metric) : Result<>());
  Parameters parameters{.operation = operation_of(test, verb), .metric = metric};
  TRY(parameters.sizes, sizes_of(test, verb, metric));
  TRY(parameters.server_port, device_named(test.peer_device, "--peer-device"));
  TRY(parameters.client_memory, session::memory_named(test.memory));
  TRY(parameters.server_memory, session::memory_named(test.peer_memory));
  std::string transport = test.transport;
  std::ranges::transform(transport, transport.begin(), ::toupper);
  parameters.transport = named<verbs::Transport>(transport).value_or(verbs::Transport::Rc);
  parameters.server_port.gid_index = unless(test.peer_gid_index, -1);
  set_shape(test, parameters);
  set_length(test, parameters);
  TRY(session::check(parameters));
  return parameters;
}

Result<PortRequest> own_wish(const TestFlags& test) {
  TRY(PortRequest wish, device_named(test.device, "--device"));
  wish.gid_index = unless(test.gid_index, -1);
  if (test.gid_family != "auto") {
    wish.family = test.gid_family == "ipv4" ? net::Family::Ipv4 : net::Family::Ipv6;
  }
  if (test.roce != "auto") {
    wish.type = test.roce == "v1" ? verbs::GidType::RoceV1 : verbs::GidType::RoceV2;
  }
  return wish;
}

namespace {

class RdmaTestCommand final : public cli::Command {
 public:
  RdmaTestCommand(Verb verb, session::OpenLibrary open) : verb_(verb), open_(std::move(open)) {}

  cli::Summary summary() const override;
  void define(cli::Flags& flags) override;
  Result<cli::ExitCode> run(cli::Context& context) override;

 private:
  Result<session::Trial> measure(control::Client& client, const session::Parameters& wanted,
                                 const session::PortRequest& wish, int interrupt,
                                 const cli::Context& context) const;
  Result<cli::ExitCode> show(const session::Trial& trial, const control::Client& client,
                             cli::Json document, const cli::Context& context) const;
  // Which thresholds were missed, as sentences.
  std::vector<std::string> missed(const session::Trial& trial) const;

  Verb verb_;
  session::OpenLibrary open_;
  TestFlags test_;
  control::PeerFlags peer_;
  baseline::Flags baseline_;
};

cli::Summary RdmaTestCommand::summary() const {
  const std::string name = fmt::format("rdma {}", name_of(verb_));
  return {
      .name = name,
      .purpose = std::string(purpose_of(verb_)),
      .description =
          "Runs a test between this host's RDMA port and that of a peer where 'chokepoint "
          "serve' runs: bw keeps the queue full, lat sends one request after another. Both sides "
          "agree on every parameter first and show what they agreed on. Afterwards it shows the "
          "ports' counters during the test, and in one sentence whether the fabric was clean.\n\n"
          "Device and GID are those of the local address from which the peer is reached. "
          "The peer can reach one buffer of this host's memory, only while the test lasts.",
      .examples = {
          {fmt::format("chokepoint {} bw hubble", name), "three seconds to the peer"},
          {fmt::format("chokepoint {} lat hubble --iterations 10000", name),
           "ten thousand of them, one after another"},
          {verb_ == Verb::Atomic ? fmt::format("chokepoint {} bw hubble --queue-pairs 8", name)
                                 : fmt::format("chokepoint {} bw hubble --sweep --json", name),
           verb_ == Verb::Atomic ? "over eight queue pairs" : "all sizes from 2 bytes to 8 MiB"}}};
}

void RdmaTestCommand::define(cli::Flags& flags) {
  flags.positional("METRIC", &test_.metric, "bw (bandwidth) or lat (latency)");
  rdma::define(flags, test_, verb_);
  control::define(flags, peer_);
  baseline::define(flags, baseline_);
}

Result<Trial> RdmaTestCommand::measure(control::Client& client, const session::Parameters& wanted,
                                       const session::PortRequest& wish, int interrupt,
                                       const cli::Context& context) const {
  const bool sweep = wanted.sizes.size() > 1;
  const session::Listener listener{
      .waiting = [&](const std::string& why) { fmt::print(context.err, "waiting: {}\n", why); },
      .agreed = [&](const Trial& trial) { show_progress(context, trial); },
      .round =
          [&](const Round& round) {
            if (sweep) {
              show_progress(context, round);
            }
          }};
  const session::Here here{.root = context.root,
                           .clock = context.clock,
                           .wish = wish,
                           .host = sys::host_name(context.root),
                           .interrupt = interrupt};
  return session::run(client, wanted, open_(), here, listener);
}

Result<cli::ExitCode> RdmaTestCommand::run(cli::Context& context) {
  TRY(baseline::check(baseline_));
  TRY(const Parameters wanted, parameters_of(test_, verb_));
  TRY(const PortRequest wish, own_wish(test_));
  if (test_.flows > 0) {
    return run_flows({.test = wanted, .wish = wish, .flows = static_cast<int>(test_.flows)}, peer_,
                     baseline_, open_, context);
  }
  TRY(const sys::Signals signals, sys::Signals::watch_for_end());
  cli::Json document = cli::document(context, Fields<documents::Rdma>::kSchema);
  TRY(control::Client client, control::connect(peer_, context, signals.descriptor()));
  TRY(const Trial trial, measure(client, wanted, wish, signals.descriptor(), context));
  baseline::ask_peer(client, baseline_, context, signals.descriptor(), document);
  client.bye();
  return show(trial, client, std::move(document), context);
}

std::vector<std::string> RdmaTestCommand::missed(const Trial& trial) const {
  std::vector<std::string> missed;
  for (const Round& round : trial.rounds) {
    const documents::RdmaFigures figures = figures_of(round);
    const std::optional<double> average = figures.average_mbps;
    if (test_.min_mbps > 0 && trial.parameters.metric == perf::Metric::Bandwidth &&
        average.value_or(0) < test_.min_mbps) {
      missed.push_back(fmt::format("messages of {} B: {:.2f} Mb/s, wanted {:.2f} at least",
                                   round.plan.message_bytes, average.value_or(0), test_.min_mbps));
    }
    const auto& latency = figures.latency_us;
    if (test_.max_us > 0 && latency && latency->median > test_.max_us) {
      missed.push_back(fmt::format("messages of {} B: median {:.2f} µs, wanted {:.2f} at most",
                                   round.plan.message_bytes, latency->median, test_.max_us));
    }
  }
  return missed;
}

Result<cli::ExitCode> RdmaTestCommand::show(const Trial& trial, const control::Client& client,
                                            cli::Json document, const cli::Context& context) const {
  const std::string& peer = client.admittance().server.host;
  const fabric::Judgement fabric = fabric::judge(trial.client_counters, trial.server_counters);
  documents::Rdma measured = document_of(trial, fabric);
  measured.peer = peer_of(peer_, client);
  measured.missed = missed(trial);
  document.update(json::to_json(measured));
  baseline::Finding finding{.kind = "rdma",
                            .peer = peer,
                            .direction = trial.parameters.both_ways ? "both"
                                         : trial.parameters.operation == verbs::Operation::Read
                                             ? "receive"
                                             : "send",
                            .document = std::move(document)};
  TRY(const cli::ExitCode code,
      baseline::answer(context, baseline_, std::move(finding), trial.interrupted, [&] {
        print_page(context, trial, fabric, peer);
        for (const std::string& each : measured.missed) {
          fmt::print(context.out, "Threshold missed: {}.\n", each);
        }
      }));
  if (trial.failure) {
    return fail(*trial.failure);
  }
  const bool is_found = !measured.missed.empty() || damaged(trial);
  return code == cli::ExitCode::Done && is_found ? cli::ExitCode::Found : code;
}

}  // namespace

cli::CommandFactory rdma_test_command(Verb verb, session::OpenLibrary open) {
  return trials::repeatable(cli::command<RdmaTestCommand>(verb, std::move(open)),
                            documents::figures_of(documents::schemas::kRdma));
}

}  // namespace chokepoint::rdma
