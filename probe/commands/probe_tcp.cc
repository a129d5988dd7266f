// chokepoint probe tcp: what a path carries over TCP, each way, and what limits it. The document
// chokepoint.probe.tcp/1, the table for people, and one live line per interval. One thread.
#include <fmt/format.h>
#include <fmt/ostream.h>

#include <string>

#include "base/baseline/baseline.h"
#include "base/cli/command.h"
#include "base/cli/output.h"
#include "base/control/bodies.h"
#include "base/control/client.h"
#include "base/math/units.h"
#include "base/sys/root.h"
#include "base/sys/signals.h"
#include "base/trials/trials.h"
#include "probe/commands/directions.h"
#include "probe/commands/foreign_peer.h"
#include "probe/commands/kinds.h"
#include "probe/tcp/outcome.h"

namespace chokepoint {
namespace probe {
namespace {

struct CpuUse {
  tcp::HostMeasure sender;
  tcp::HostMeasure receiver;
};

}  // namespace
}  // namespace probe

template <>
struct Fields<probe::CpuUse> {
  using C = probe::CpuUse;
  using H = probe::tcp::HostMeasure;
  static constexpr std::tuple kList{
      within(&C::sender, field("sender_percent", &H::cpu_percent, "of the streams' threads")),
      within(&C::receiver, field("receiver_percent", &H::cpu_percent, "of the streams' threads")),
      within(&C::sender, field("sender_softirq_percent", &H::softirq_percent,
                               "handling packets, on the core that had most of it")),
      within(&C::receiver, field("receiver_softirq_percent", &H::softirq_percent,
                                 "handling packets, on the core that had most of it")),
      within(&C::sender,
             field("sender_busiest_core_percent", &H::busiest_core_percent, "of any kind of work")),
      within(&C::receiver, field("receiver_busiest_core_percent", &H::busiest_core_percent,
                                 "of any kind of work"))};
};

template <>
struct Fields<probe::tcp::Shares> {
  using S = probe::tcp::Shares;
  static constexpr std::tuple kList{
      field("application", &S::application, "share of the time without data to send"),
      field("receive_window", &S::receive_window, "share in which the receive window was full"),
      field("send_buffer", &S::send_buffer, "share in which the send buffer was too small"),
      field("network", &S::network, "the rest: congestion window, pacing, the path")};
};

template <>
struct Fields<probe::tcp::Interval> {
  using I = probe::tcp::Interval;
  static constexpr std::tuple kList{
      field("start_s", &I::start_s, "since the test began"),
      field("end_s", &I::end_s, "since the test began"),
      field("bytes", &I::bytes, "payload that arrived"),
      field("throughput_mbps", &I::throughput_mbps, "payload that arrived, 10^6 bit/s"),
      field("retransmits", &I::retransmits, "segments retransmitted"),
      field("cwnd_bytes", &I::cwnd_bytes, "congestion windows of all streams together"),
      field("rtt_ms", &I::rtt_ms, "by the sender's kernel, mean over the streams")};
};

template <>
struct Fields<probe::tcp::StreamOutcome> {
  using S = probe::tcp::StreamOutcome;
  using M = probe::tcp::StreamMeasure;
  static constexpr std::tuple kList{
      within(&S::sender, field("stream", &M::index, "number of the connection, from 0")),
      within(&S::receiver, field("bytes", &M::bytes, "payload that arrived, without the omitted")),
      within(&S::sender, field("sent_bytes", &M::total_bytes, "in total, by the sender's count")),
      within(&S::receiver, field("received_bytes", &M::total_bytes, "in total, by the receiver's")),
      field("throughput_mbps", &S::throughput_mbps, "payload that arrived, 10^6 bit/s"),
      within(&S::sender, field("retransmits", &M::retransmits, "segments retransmitted")),
      within(&S::sender, field("max_cwnd_bytes", &M::max_cwnd_bytes, "largest congestion window")),
      computed<S>(
          "rtt_ms", [](const S& stream) { return control::if_measured(stream.sender.rtt_ms); },
          "by the sender's kernel"),
      within(&S::sender, field("sender_cpu_percent", &M::cpu_percent, "of the stream's thread")),
      within(&S::receiver, field("receiver_cpu_percent", &M::cpu_percent, "of its thread")),
      computed<S>(
          "error",
          [](const S& stream) -> std::optional<std::string> {
            const std::string& error =
                stream.sender.error.empty() ? stream.receiver.error : stream.sender.error;
            return error.empty() ? std::nullopt : std::optional(error);
          },
          "why the stream broke")};
};

template <>
struct Fields<probe::tcp::Outcome> {
  using O = probe::tcp::Outcome;
  // The kernel's own minimum may be lower than every sample.
  static std::optional<math::Distribution> sender_rtt(const O& outcome) {
    auto rtt = control::if_measured(outcome.rtt_ms);
    if (rtt) {
      rtt->min = std::min(rtt->min, outcome.min_rtt_ms.value_or(rtt->min));
    }
    return rtt;
  }
  static constexpr std::tuple kList{
      field("duration_s", &O::duration_s, "from the first arrival to the last"),
      field("congestion_control", &O::congestion_control, "the sender's").null_if_empty(),
      field("mss_bytes", &O::mss_bytes, "payload of a full segment"),
      field("throughput_mbps", &O::throughput_mbps, "payload that arrived, 10^6 bit/s"),
      field("peak_mbps", &O::peak_mbps, "of the best whole interval"),
      field("bytes", &O::bytes, "payload that arrived, without the omitted start"),
      field("sent_bytes", &O::sent_bytes, "in total, by the sender's count"),
      field("received_bytes", &O::received_bytes, "in total, by the receiver's count"),
      field("retransmits", &O::retransmits, "segments retransmitted"),
      field("max_cwnd_bytes", &O::max_cwnd_bytes, "largest congestion windows of all streams"),
      computed<O>("rtt_ms", sender_rtt, "by the sender's kernel, under load"),
      computed<O>(
          "receiver_rtt_ms", [](const O& o) { return control::if_measured(o.receiver_rtt_ms); },
          "by the receiver's kernel"),
      computed<O>(
          "cpu", [](const O& o) { return probe::CpuUse{o.sender_host, o.receiver_host}; },
          "100 % is one core"),
      within(&O::sender_host,
             field("pacing", &probe::tcp::HostMeasure::pacing,
                   "what kept the sender to --pace: the fq queueing discipline, or TCP's own timer "
                   "in the kernel; null without --pace and where the sender does not say")),
      field("limited_by", &O::limited_by,
            "the sender's time as its TCP counts it; null where its kernel does not say"),
      computed<O>(
          "limit", [](const O& o) { return name_of(o.verdict.limit); },
          "what limited the test: see docs/internals/tcp.md"),
      within(&O::verdict, field("summary", &probe::tcp::Verdict::sentence, "the limit in words")),
      field("intervals", &O::intervals, "by the receiver's clock"),
      field("per_stream", &O::streams, "each connection")};
};

}  // namespace chokepoint

namespace chokepoint::probe {
namespace {

using cli::Json;
using tcp::Direction;

constexpr std::chrono::seconds kTime{10};

std::string megabits(double mbps) { return math::format_rate(mbps * math::kMega); }

std::string bytes_text(const std::optional<std::uint64_t>& bytes) {
  return bytes ? math::format_bytes(static_cast<double>(*bytes)) : "not known";
}

std::string rtt_text(const tcp::Outcome& outcome) {
  if (outcome.rtt_ms.count == 0) {
    return "not measured";
  }
  return fmt::format("{} (min {}, p99 {})", math::format_ms(outcome.rtt_ms.median),
                     math::format_ms(outcome.min_rtt_ms.value_or(outcome.rtt_ms.min)),
                     math::format_ms(outcome.rtt_ms.p99));
}

std::string cpu_text(const tcp::HostMeasure& host) {
  const std::string own = fmt::format("{:.0f} %", host.cpu_percent);
  return host.softirq_percent ? fmt::format("{}, softirq {:.0f} % of core {}", own,
                                            *host.softirq_percent, host.softirq_core.value_or(0))
                              : own;
}

// Of the sender's kernel (tcp_info's chrono): where a CPU is full it still counts what was under
// way as time in the network, so this is not what limited the test.
std::string shares_text(const tcp::Outcome& outcome) {
  if (!outcome.limited_by) {
    return "not known";
  }
  const tcp::Shares& shares = *outcome.limited_by;
  return fmt::format(
      "waited for application {:.0f} %, receive window {:.0f} %, send buffer {:.0f} %, "
      "network {:.0f} %",
      shares.application * 100, shares.receive_window * 100, shares.send_buffer * 100,
      shares.network * 100);
}

std::string pacing_text(const tcp::Outcome& outcome) {
  if (!outcome.sender_host.pacing) {
    return "not known";
  }
  return outcome.sender_host.pacing == tcp::Pacing::Fq ? "the fq queueing discipline"
                                                       : "TCP's own timer";
}

// The rows in which operators have always reported such tests.
DirectionRows<tcp::Outcome> tcp_rows() {
  return {
      {"average throughput", [](const auto& each) { return megabits(each.throughput_mbps); }},
      {"peak throughput", [](const auto& each) { return megabits(each.peak_mbps); }},
      {"data transferred",
       [](const auto& each) {
         return fmt::format("{} in {:.2f} s", math::format_bytes(static_cast<double>(each.bytes)),
                            each.duration_s);
       }},
      {"retransmissions",
       [](const auto& each) {
         return each.retransmits ? std::to_string(*each.retransmits) : std::string("not known");
       }},
      {"max congestion window", [](const auto& each) { return bytes_text(each.max_cwnd_bytes); }},
      {"round-trip time", [](const auto& each) { return rtt_text(each); }},
      {"TX utilization", [](const auto& each) { return cpu_text(each.sender_host); }},
      {"RX utilization", [](const auto& each) { return cpu_text(each.receiver_host); }},
      {"TCP's own view", shares_text}};
}

// Into `document`, which has its head already.
void add_to(Json& document, const tcp::Trial& test, const std::vector<tcp::Outcome>& directions) {
  document["direction"] = name_of(test.parameters.direction);
  document["streams"] = test.parameters.streams;
  document["interrupted"] = test.interrupted;
  document["zero_copy"] = test.parameters.zero_copy;
  if (directions.size() == 1) {
    document.update(json::to_json(directions.front()));
    return;
  }
  for (const tcp::Outcome& outcome : directions) {
    document[name_of(outcome.direction)] = json::to_json(outcome);
  }
}

void print_page(const cli::Context& context, const tcp::Trial& test,
                const std::vector<tcp::Outcome>& directions) {
  DirectionRows<tcp::Outcome> rows = tcp_rows();
  if (test.parameters.pace_bits_per_s) {
    rows.emplace_back("paced by", pacing_text);
  }
  print_directions(context, directions, rows);
  for (const tcp::Outcome& outcome : directions) {
    fmt::print(context.out, "{} it was limited by {}.\n", direction_text(outcome.direction),
               outcome.verdict.sentence);
  }
  if (test.interrupted) {
    context.out << "Interrupted: these are the results until then.\n";
  }
}

// A line on standard error for each interval, on a terminal only: once both ends have reported
// their part of it.
class TcpLive {
 public:
  explicit TcpLive(const cli::Context& context) : context_(context) {}
  void show(tcp::Side side, const tcp::IntervalMeasure& interval) {
    if (!context_.err_terminal.interactive || context_.quiet) {
      return;
    }
    const bool sent = interval.role == tcp::Role::Send;
    // What the client receives, the server sent, and the other way round.
    const bool from_here = (side == tcp::Side::Client) == sent;
    DataPath& way = from_here ? to_peer_ : from_peer_;
    if (!sent && way.received) {
      print(from_here);
    }
    (sent ? way.sent : way.received) = interval;
    if (way.sent && way.received) {
      print(from_here);
    }
  }

 private:
  struct DataPath {
    std::optional<tcp::IntervalMeasure> sent = {};
    std::optional<tcp::IntervalMeasure> received = {};
  };
  void print(bool from_here) {
    DataPath& way = from_here ? to_peer_ : from_peer_;
    const tcp::IntervalMeasure& received = *way.received;
    const double duration_s = received.end_s - received.start_s;
    const double bits = duration_s > 0 ? static_cast<double>(received.bytes) * 8 / duration_s : 0;
    std::string line = fmt::format("{} {:7.1f} s  {:>12}", from_here ? "->" : "<-", received.end_s,
                                   math::format_rate(bits));
    if (way.sent) {
      line += fmt::format("  retransmissions {:<6} cwnd {:>9}", way.sent->retransmits.value_or(0),
                          bytes_text(way.sent->cwnd_bytes));
      line += way.sent->rtt_ms ? "  rtt " + math::format_ms(*way.sent->rtt_ms) : "";
    }
    context_.err << line << '\n' << std::flush;
    way = {};
  }

  const cli::Context& context_;
  DataPath to_peer_;
  DataPath from_peer_;
};

std::vector<tcp::Outcome> judge_all(const tcp::Trial& test, const std::string& own,
                                    const std::string& peer) {
  std::vector<tcp::Outcome> outcomes;
  for (const Direction direction : {Direction::Send, Direction::Receive}) {
    if (test.parameters.direction == direction || test.parameters.direction == Direction::Both) {
      const bool sends = direction == Direction::Send;
      tcp::Outcome& outcome = outcomes.emplace_back(outcome_of(test, direction));
      outcome.verdict = judge(outcome, test.parameters,
                              {.sender = sends ? own : peer, .receiver = sends ? peer : own});
    }
  }
  return outcomes;
}

class ProbeTcpCommand final : public cli::Command {
 public:
  cli::Summary summary() const override {
    return {
        .name = "probe tcp",
        .purpose = "TCP throughput of a path in each direction, and what limits it",
        .description =
            "Sends data over one or more TCP connections to a peer that runs 'chokepoint serve', "
            "or receives it, and reports throughput, retransmissions, congestion window, "
            "round-trip time, CPU use of both hosts, and in one sentence what limited it. Bytes "
            "and time are the receiver's; the state "
            "of the connections is what the sender's kernel knows.\n\n"
            "Tests that fill the path wait in a queue at the server and run one after the other; "
            "with --share they run at the same time as other shared tests.",
        .examples = {{"chokepoint probe tcp voyager", "ten seconds to the peer"},
                     {"chokepoint probe tcp voyager --both --streams 4",
                      "both ways at once, four connections each way"},
                     {"chokepoint probe tcp voyager --receive --record runs/a",
                      "from the peer to here, stored as a baseline for a later diagnosis"}}};
  }

  void define(cli::Flags& flags) override {
    flags.group("What to measure")
        .toggle("send", &send_, "from here to the peer (the default)")
        .toggle("receive,R", &receive_, "from the peer to here")
        .toggle("both", &both_, "both ways at once")
        .option("streams,P", &streams_, "N", "connections each way, a thread each", 1, 1024)
        .option("time,t", &time_, "TIME", "duration; 0: 10 s, or until --bytes are sent")
        .option("bytes", &bytes_, "SIZE", "amount to send each way; 0: until --time is over")
        .option("omit", &omit_, "TIME", "exclude this time at the start")
        .option("interval", &interval_, "TIME",
                "interval of the printed lines and of the rows of the result")
        .toggle("share", &share_, "run at the same time as other shared tests, instead of queueing")
        .group("How to send")
        .option("congestion", &congestion_, "NAME", "congestion control: cubic, bbr, reno …")
        .option("mss", &mss_, "BYTES", "largest segment; 0 leaves it to the kernel", 0, 32767)
        .option("window", &window_, "SIZE", "socket buffers; 0 leaves them to the kernel")
        .option("pace", &pace_, "RATE", "maximum rate of all streams together")
        .option("dscp", &dscp_, "N", "DSCP to mark packets with; -1: none", -1, 63)
        .choice("zero-copy", &zero_copy_, {"auto", "off"},
                "auto: no copy between program and kernel, at either end");
    control::define(flags, peer_);
    flags.choice("peer", &program_, peer_programs(),
                 "program at the peer; its usual port is tried");
    baseline::define(flags, baseline_);
  }

  Result<cli::ExitCode> run(cli::Context& context) override {
    TRY(baseline::check(baseline_));
    TRY(tcp::Parameters wanted, parameters());
    TRY(sys::Signals signals, sys::Signals::watch_for_end());
    cli::Json document = cli::document(context, "chokepoint.probe.tcp/1");
    if (const Foreign foreign = foreign_named(program_); foreign != Foreign::None) {
      return run_against(foreign, wanted, signals.descriptor(), std::move(document), context);
    }
    TRY(control::Client client, connect(peer_, context, signals.descriptor()));
    fit(wanted, client.admittance().limits, context);
    TcpLive live(context);
    TRY(const tcp::Trial test,
        tcp::run(
            client, wanted, context.root, signals.descriptor(),
            [&](tcp::Side side, const tcp::IntervalMeasure& each) { live.show(side, each); },
            [&](const std::string& why) { fmt::print(context.err, "waiting: {}\n", why); }));
    baseline::ask_peer(client, baseline_, context, signals.descriptor(), document);
    client.bye();
    document["peer"] = peer_body(peer_, client);
    return show(test, client.admittance().server.host, std::move(document), context);
  }

 private:
  Result<tcp::Parameters> parameters() const {
    TRY(const Direction direction, direction_of(send_, receive_, both_));
    if (interval_ < std::chrono::milliseconds(10)) {
      return fail(ErrorKind::Usage, "", "--interval", "must be 10 ms or more");
    }
    tcp::Parameters parameters{.direction = direction,
                               .streams = static_cast<int>(streams_),
                               .time = time_.count() > 0 ? time_ : kTime,
                               .omit = omit_,
                               .interval = interval_,
                               .congestion = congestion_,
                               .zero_copy = zero_copy_ != "off",
                               .share = share_};
    if (bytes_.count > 0) {
      parameters.bytes = bytes_.count;
    }
    if (mss_ > 0) {
      parameters.mss = static_cast<int>(mss_);
    }
    if (window_.count > 0) {
      parameters.window = static_cast<int>(std::min<std::uint64_t>(window_.count, INT32_MAX));
    }
    if (pace_.bits_per_second > 0) {
      parameters.pace_bits_per_s = pace_.bits_per_second;
    }
    if (dscp_ >= 0) {
      parameters.dscp = static_cast<int>(dscp_);
    }
    return parameters;
  }

  // Fits the time and the pace to the server's limits.
  void fit(tcp::Parameters& wanted, const control::Limits& limits,
           const cli::Context& context) const {
    if (wanted.bytes && time_.count() == 0) {
      wanted.time = std::max(limits.longest_test - wanted.omit, std::chrono::nanoseconds(kTime));
    }
    fit_pace(wanted.pace_bits_per_s, limits, context);
  }

  Result<cli::ExitCode> run_against(Foreign foreign, const tcp::Parameters& wanted, int interrupt,
                                    cli::Json document, const cli::Context& context) const {
    TRY(const ForeignHost host, foreign_host(foreign, peer_, interrupt, context));
    TcpLive live(context);
    TRY(const ForeignTrial test,
        run_foreign(foreign, host, wanted, [&](tcp::Side side, const tcp::IntervalMeasure& each) {
          live.show(side, each);
        }));
    document["peer"] = foreign_body(peer_, test.peer, test.software);
    return show(test.trial, peer_.host, std::move(document), context);
  }

  // `document` names the peer already.
  Result<cli::ExitCode> show(const tcp::Trial& test, const std::string& peer, cli::Json document,
                             const cli::Context& context) const {
    const std::vector<tcp::Outcome> judged = judge_all(test, sys::host_name(context.root), peer);
    add_to(document, test, judged);
    return baseline::answer(context, baseline_,
                            {.kind = "tcp",
                             .peer = peer,
                             .direction = std::string(name_of(test.parameters.direction)),
                             .document = std::move(document)},
                            test.interrupted, [&] { print_page(context, test, judged); });
  }

  control::PeerFlags peer_;
  std::string program_ = "chokepoint";
  baseline::Flags baseline_;
  bool send_ = false;
  bool receive_ = false;
  bool both_ = false;
  std::int64_t streams_ = 1;
  std::chrono::nanoseconds time_{0};
  std::chrono::nanoseconds omit_{0};
  std::chrono::nanoseconds interval_ = std::chrono::seconds(1);
  math::Bytes bytes_;
  std::string congestion_;
  std::int64_t mss_ = 0;
  math::Bytes window_;
  math::Rate pace_;
  std::int64_t dscp_ = -1;
  std::string zero_copy_ = "auto";
  bool share_ = false;
};

}  // namespace

cli::CommandFactory tcp_command() {
  return trials::repeatable(cli::command<ProbeTcpCommand>(),
                            trials::figures_of(trials::schemas::kTcp));
}

}  // namespace chokepoint::probe
