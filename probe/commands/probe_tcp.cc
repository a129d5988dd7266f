// chokepoint probe tcp: what a path carries over TCP, each way, and what limits it. The document
// chokepoint.probe.tcp/1, the table for people, and one live line per interval. One thread.
#include "base/documents/probe_tcp.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <string>
#include <utility>
#include <vector>

#include "base/cli/command.h"
#include "base/cli/output.h"
#include "base/control/client.h"
#include "base/json/codec.h"
#include "base/math/units.h"
#include "base/sys/root.h"
#include "base/sys/signals.h"
#include "measure/baseline/baseline.h"
#include "measure/trials/trials.h"
#include "probe/commands/directions.h"
#include "probe/commands/flag_checks.h"
#include "probe/commands/foreign_peer.h"
#include "probe/commands/kinds.h"
#include "probe/tcp/outcome.h"

namespace chokepoint::probe {
namespace {

using documents::TcpFigures;
using tcp::Direction;

constexpr std::chrono::seconds kTime{10};

std::string megabits(double mbps) { return math::format_rate(mbps * math::kMega); }

std::string bytes_text(const std::optional<std::uint64_t>& bytes) {
  return bytes ? math::format_bytes(static_cast<double>(*bytes)) : "not known";
}

std::string rtt_text(const TcpFigures& figures) {
  if (!figures.rtt_ms) {
    return "not measured";
  }
  return fmt::format("{} (min {}, p99 {})", math::format_ms(figures.rtt_ms->median),
                     math::format_ms(figures.rtt_ms->min), math::format_ms(figures.rtt_ms->p99));
}

std::string cpu_text(double percent, const std::optional<double>& softirq_percent,
                     const std::optional<int>& softirq_core) {
  const std::string own = fmt::format("{:.0f} %", percent);
  return softirq_percent ? fmt::format("{}, softirq {:.0f} % of core {}", own, *softirq_percent,
                                       softirq_core.value_or(0))
                         : own;
}

// Of the sender's kernel (tcp_info's chrono): where a CPU is full it still counts what was under
// way as time in the network, so this is not what limited the test.
std::string shares_text(const TcpFigures& figures) {
  if (!figures.limited_by) {
    return "not known";
  }
  const documents::TcpShares& shares = *figures.limited_by;
  return fmt::format(
      "waited for application {:.0f} %, receive window {:.0f} %, send buffer {:.0f} %, "
      "network {:.0f} %",
      shares.application * 100, shares.receive_window * 100, shares.send_buffer * 100,
      shares.network * 100);
}

std::string pacing_text(const TcpFigures& figures) {
  if (!figures.pacing) {
    return "not known";
  }
  return figures.pacing == tcp::Pacing::Fq ? "the fq queueing discipline" : "TCP's own timer";
}

// The rows in which operators have always reported such tests.
DirectionRows<tcp::Outcome> tcp_rows() {
  return {{"average throughput",
           [](const auto& each) { return megabits(each.figures.throughput_mbps); }},
          {"peak throughput", [](const auto& each) { return megabits(each.figures.peak_mbps); }},
          {"data transferred",
           [](const auto& each) {
             return fmt::format("{} in {:.2f} s",
                                math::format_bytes(static_cast<double>(each.figures.bytes)),
                                each.figures.duration_s);
           }},
          {"retransmissions",
           [](const auto& each) {
             const auto& count = each.figures.retransmits;
             return count ? std::to_string(*count) : std::string("not known");
           }},
          {"max congestion window",
           [](const auto& each) { return bytes_text(each.figures.max_cwnd_bytes); }},
          {"round-trip time", [](const auto& each) { return rtt_text(each.figures); }},
          {"TX utilization",
           [](const auto& each) {
             const documents::TcpCpu& cpu = each.figures.cpu;
             return cpu_text(cpu.sender_percent, cpu.sender_softirq_percent,
                             each.sender_softirq_core);
           }},
          {"RX utilization",
           [](const auto& each) {
             const documents::TcpCpu& cpu = each.figures.cpu;
             return cpu_text(cpu.receiver_percent, cpu.receiver_softirq_percent,
                             each.receiver_softirq_core);
           }},
          {"TCP's own view", [](const auto& each) { return shares_text(each.figures); }}};
}

documents::ProbeTcp tcp_document(const tcp::Trial& test, documents::Peer peer,
                                 const std::vector<tcp::Outcome>& directions) {
  documents::ProbeTcp document{.peer = std::move(peer),
                               .direction = test.parameters.direction,
                               .streams = test.parameters.streams,
                               .interrupted = test.interrupted,
                               .zero_copy = test.parameters.zero_copy};
  for (const tcp::Outcome& outcome : directions) {
    document.by_direction.set(document.direction, outcome.direction, outcome.figures);
  }
  return document;
}

void print_page(const cli::Context& context, const tcp::Trial& test,
                const std::vector<tcp::Outcome>& directions) {
  DirectionRows<tcp::Outcome> rows = tcp_rows();
  if (test.parameters.pace_bits_per_s) {
    rows.emplace_back("paced by", [](const auto& each) { return pacing_text(each.figures); });
  }
  print_directions(context, directions, rows);
  for (const tcp::Outcome& outcome : directions) {
    fmt::print(context.out, "{} it was limited by {}.\n", direction_text(outcome.direction),
               outcome.figures.summary);
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
    IntervalEnds& ends = from_here ? to_peer_ : from_peer_;
    if (!sent && ends.received) {
      print(from_here);
    }
    (sent ? ends.sent : ends.received) = interval;
    if (ends.sent && ends.received) {
      print(from_here);
    }
  }

 private:
  struct IntervalEnds {
    std::optional<tcp::IntervalMeasure> sent = {};
    std::optional<tcp::IntervalMeasure> received = {};
  };
  void print(bool from_here) {
    IntervalEnds& ends = from_here ? to_peer_ : from_peer_;
    const tcp::IntervalMeasure& received = *ends.received;
    const double duration_s = received.end_s - received.start_s;
    const double bits = duration_s > 0 ? static_cast<double>(received.bytes) * 8 / duration_s : 0;
    std::string line = fmt::format("{} {:7.1f} s  {:>12}", from_here ? "->" : "<-", received.end_s,
                                   math::format_rate(bits));
    if (ends.sent) {
      line += fmt::format("  retransmissions {:<6} cwnd {:>9}", ends.sent->retransmits.value_or(0),
                          bytes_text(ends.sent->cwnd_bytes));
      line += ends.sent->rtt_ms ? "  rtt " + math::format_ms(*ends.sent->rtt_ms) : "";
    }
    context_.err << line << '\n' << std::flush;
    ends = {};
  }

  const cli::Context& context_;
  IntervalEnds to_peer_;
  IntervalEnds from_peer_;
};

std::vector<tcp::Outcome> judge_all(const tcp::Trial& test, const std::string& own,
                                    const std::string& peer) {
  std::vector<tcp::Outcome> outcomes;
  for (const Direction direction : {Direction::Send, Direction::Receive}) {
    if (test.parameters.direction == direction || test.parameters.direction == Direction::Both) {
      const bool sends = direction == Direction::Send;
      tcp::Outcome& outcome = outcomes.emplace_back(outcome_of(test, direction));
      tcp::Verdict verdict = judge(outcome, test.parameters,
                                   {.sender = sends ? own : peer, .receiver = sends ? peer : own});
      outcome.figures.limit = verdict.limit;
      outcome.figures.summary = std::move(verdict.sentence);
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
            "and time are the receiver's; the state of the connections is the sender's "
            "kernel's.\n\n"
            "Tests that fill the path wait in a queue at the server and run one after the other; "
            "with --share they run at the same time as other shared tests.",
        .examples = {{"chokepoint probe tcp voyager", "ten seconds to the peer"},
                     {"chokepoint probe tcp voyager --both --streams 4",
                      "both directions at once, four connections in each direction"},
                     {"chokepoint probe tcp voyager --receive --record runs/a",
                      "from the peer to here, stored as a baseline for a later diagnosis"}}};
  }

  void define(cli::Flags& flags) override {
    flags.group("What to measure")
        .toggle("send", &send_, "from here to the peer (the default)")
        .toggle("receive,R", &receive_, "from the peer to here")
        .toggle("both", &both_, "both directions at once")
        .option("streams,P", &streams_, "N", "connections in each direction, a thread each", 1,
                1024)
        .option("time,t", &time_, "TIME", "duration; 0: 10 s, or until --bytes are sent")
        .option("bytes", &bytes_, "SIZE",
                "amount to send in each direction; 0: until --time is over")
        .option("omit", &omit_, "TIME", "exclude this time at the start")
        .option("interval", &interval_, "TIME",
                "interval of the printed lines and of the rows of the result")
        .toggle("share", &share_, "run at the same time as other shared tests, instead of queueing")
        .group("How to send")
        .option("congestion", &congestion_, "NAME", "congestion control: cubic, bbr, reno …")
        .option("mss", &mss_, "BYTES", "largest segment; 0 leaves it to the kernel", 0, 32767)
        .option("window", &window_, "SIZE", "socket buffers; 0 leaves them to the kernel")
        .option("rate", &pace_, "RATE", "maximum rate of all streams together")
        .formerly("pace")
        .option("dscp", &dscp_, "N", "DSCP to mark packets with; -1: none", -1, 63)
        .choice("zero-copy", &zero_copy_, {"auto", "off"},
                "auto: no copy between program and kernel, at either end");
    control::define(flags, peer_);
    flags
        .choice("peer-program", &program_, peer_programs(),
                "what runs at the peer; its usual port is tried")
        .formerly("peer");
    baseline::define(flags, baseline_);
  }

  Result<cli::ExitCode> run(cli::Context& context) override {
    TRY(baseline::check(baseline_));
    TRY(tcp::Parameters wanted, parameters());
    TRY(sys::Signals signals, sys::Signals::watch_for_end());
    cli::Json document = cli::document(context, Fields<documents::ProbeTcp>::kSchema);
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
    return show(test, peer_of(peer_, client), std::move(document), context);
  }

 private:
  Result<tcp::Parameters> parameters() const {
    TRY(const Direction direction, direction_of(send_, receive_, both_));
    TRY(check_interval(interval_));
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
    return show(test.trial, foreign_peer(peer_, test.peer, test.software), std::move(document),
                context);
  }

  // `document` has its head already.
  Result<cli::ExitCode> show(const tcp::Trial& test, const documents::Peer& peer,
                             cli::Json document, const cli::Context& context) const {
    const std::vector<tcp::Outcome> judged =
        judge_all(test, sys::host_name(context.root), peer.called());
    document.update(json::to_json(tcp_document(test, peer, judged)));
    return baseline::answer(context, baseline_,
                            {.kind = "tcp",
                             .peer = peer.called(),
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
                            documents::figures_of(documents::schemas::kTcp));
}

}  // namespace chokepoint::probe
