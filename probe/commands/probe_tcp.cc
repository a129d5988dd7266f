// chokepoint probe tcp: what a path carries over TCP, each way, and what limits it. The document
// chokepoint.probe.tcp/1, the table for people, and one live line per interval. One thread.
#include <fmt/format.h>
#include <fmt/ostream.h>

#include <string>

#include "base/baseline/baseline.h"
#include "base/cli/command.h"
#include "base/cli/output.h"
#include "base/cli/table.h"
#include "base/control/bodies.h"
#include "base/control/client.h"
#include "base/math/units.h"
#include "base/sys/root.h"
#include "base/sys/signals.h"
#include "probe/commands/commands.h"
#include "probe/commands/foreign_peer.h"
#include "probe/tcp/outcome.h"
#include "probe/tcp/parameters.h"
#include "probe/tcp/trial.h"

namespace chokepoint::probe {
namespace {

using cli::Json;
using control::distribution_body;
using control::or_null;
using tcp::Direction;

constexpr std::chrono::seconds kTime{10};

// One direction and what limited it.
struct Judged {
  tcp::Outcome outcome = {};
  tcp::Verdict verdict = {};
};

// A line on standard error for each interval, on a terminal only: once both ends have reported
// their part of it.
class TcpLive {
 public:
  explicit TcpLive(const cli::Context& context) : context_(context) {}
  void show(tcp::Side side, const tcp::IntervalMeasure& interval);

 private:
  struct Way {
    std::optional<tcp::IntervalMeasure> sent = {};
    std::optional<tcp::IntervalMeasure> received = {};
  };
  void print(bool from_here);

  const cli::Context& context_;
  Way to_peer_;
  Way from_peer_;
};

// The kernel's own minimum may be lower than every sample.
Json rtt_body(const tcp::Outcome& outcome) {
  Json body = distribution_body(outcome.rtt_ms);
  if (!body.is_null() && outcome.min_rtt_ms) {
    body["min"] = std::min(*outcome.min_rtt_ms, outcome.rtt_ms.min);
  }
  return body;
}

Json shares_body(const std::optional<tcp::Shares>& shares) {
  if (!shares) {
    return {};
  }
  return {{"application", shares->application},
          {"receive_window", shares->receive_window},
          {"send_buffer", shares->send_buffer},
          {"network", shares->network}};
}

Json tcp_interval_body(const tcp::Interval& interval) {
  return {{"start_s", interval.start_s},
          {"end_s", interval.end_s},
          {"bytes", interval.bytes},
          {"throughput_mbps", interval.throughput_mbps},
          {"retransmits", or_null(interval.retransmits)},
          {"cwnd_bytes", or_null(interval.cwnd_bytes)},
          {"rtt_ms", or_null(interval.rtt_ms)}};
}

Json tcp_stream_body(const tcp::StreamOutcome& stream) {
  return {{"stream", stream.sender.index},
          {"bytes", stream.receiver.bytes},
          {"sent_bytes", stream.sender.total_bytes},
          {"received_bytes", stream.receiver.total_bytes},
          {"throughput_mbps", stream.throughput_mbps},
          {"retransmits", or_null(stream.sender.retransmits)},
          {"max_cwnd_bytes", or_null(stream.sender.max_cwnd_bytes)},
          {"rtt_ms", distribution_body(stream.sender.rtt_ms)},
          {"sender_cpu_percent", stream.sender.cpu_percent},
          {"receiver_cpu_percent", stream.receiver.cpu_percent},
          {"error", stream.sender.error.empty()
                        ? or_null(stream.receiver.error.empty() ? std::optional<std::string>()
                                                                : stream.receiver.error)
                        : Json(stream.sender.error)}};
}

Json cpu_body(const tcp::Outcome& outcome) {
  return {{"sender_percent", outcome.sender_host.cpu_percent},
          {"receiver_percent", outcome.receiver_host.cpu_percent},
          {"sender_softirq_percent", or_null(outcome.sender_host.softirq_percent)},
          {"receiver_softirq_percent", or_null(outcome.receiver_host.softirq_percent)},
          {"sender_busiest_core_percent", or_null(outcome.sender_host.busiest_core_percent)},
          {"receiver_busiest_core_percent", or_null(outcome.receiver_host.busiest_core_percent)}};
}

void add_direction(Json& body, const Judged& judged) {
  const tcp::Outcome& outcome = judged.outcome;
  body["duration_s"] = outcome.duration_s;
  body["congestion_control"] = outcome.congestion_control;
  body["mss_bytes"] = or_null(outcome.mss_bytes);
  body["throughput_mbps"] = outcome.throughput_mbps;
  body["peak_mbps"] = outcome.peak_mbps;
  body["bytes"] = outcome.bytes;
  body["sent_bytes"] = outcome.sent_bytes;
  body["received_bytes"] = outcome.received_bytes;
  body["retransmits"] = or_null(outcome.retransmits);
  body["max_cwnd_bytes"] = or_null(outcome.max_cwnd_bytes);
  body["rtt_ms"] = rtt_body(outcome);
  body["receiver_rtt_ms"] = distribution_body(outcome.receiver_rtt_ms);
  body["cpu"] = cpu_body(outcome);
  body["limited_by"] = shares_body(outcome.limited_by);
  body["limit"] = name_of(judged.verdict.limit);
  body["summary"] = judged.verdict.sentence;
  body["intervals"] = Json::array();
  for (const tcp::Interval& interval : outcome.intervals) {
    body["intervals"].push_back(tcp_interval_body(interval));
  }
  body["per_stream"] = Json::array();
  for (const tcp::StreamOutcome& stream : outcome.streams) {
    body["per_stream"].push_back(tcp_stream_body(stream));
  }
}

std::string megabits(double mbps) {
  constexpr double kGigabit = 1000;
  const std::string text = fmt::format("{:.2f} Mb/s", mbps);
  return mbps < kGigabit ? text : fmt::format("{} ({})", text, math::format_rate(mbps * 1e6));
}

std::string bytes_text(const std::optional<std::uint64_t>& bytes) {
  return bytes ? math::format_bytes(static_cast<double>(*bytes)) : "not known";
}

std::string rtt_text(const tcp::Outcome& outcome) {
  if (outcome.rtt_ms.count == 0) {
    return "not measured";
  }
  return fmt::format("{:.2f} ms (min {:.2f}, p99 {:.2f})", outcome.rtt_ms.median,
                     outcome.min_rtt_ms.value_or(outcome.rtt_ms.min), outcome.rtt_ms.p99);
}

std::string cpu_text(const tcp::HostMeasure& host) {
  const std::string own = fmt::format("{:.0f} %", host.cpu_percent);
  return host.softirq_percent ? fmt::format("{}, softirq {:.0f} % of core {}", own,
                                            *host.softirq_percent, host.softirq_core.value_or(0))
                              : own;
}

std::string shares_text(const tcp::Outcome& outcome) {
  if (!outcome.limited_by) {
    return "not known";
  }
  const tcp::Shares& shares = *outcome.limited_by;
  return fmt::format(
      "application {:.0f} %, receive window {:.0f} %, send buffer {:.0f} %, "
      "network {:.0f} %",
      shares.application * 100, shares.receive_window * 100, shares.send_buffer * 100,
      shares.network * 100);
}

struct TcpRow {
  std::string_view title;
  std::string (*value)(const tcp::Outcome& outcome);
};

// The rows in which operators have always reported such tests.
constexpr std::array kTcpRows{
    TcpRow{"average throughput",
           [](const tcp::Outcome& each) { return megabits(each.throughput_mbps); }},
    TcpRow{"peak throughput", [](const tcp::Outcome& each) { return megabits(each.peak_mbps); }},
    TcpRow{"data transferred",
           [](const tcp::Outcome& each) {
             return fmt::format("{} in {:.2f} s",
                                math::format_bytes(static_cast<double>(each.bytes)),
                                each.duration_s);
           }},
    TcpRow{"retransmissions",
           [](const tcp::Outcome& each) {
             return each.retransmits ? std::to_string(*each.retransmits) : std::string("not known");
           }},
    TcpRow{"max congestion window",
           [](const tcp::Outcome& each) { return bytes_text(each.max_cwnd_bytes); }},
    TcpRow{"round-trip time", rtt_text},
    TcpRow{"TX utilization", [](const tcp::Outcome& each) { return cpu_text(each.sender_host); }},
    TcpRow{"RX utilization", [](const tcp::Outcome& each) { return cpu_text(each.receiver_host); }},
    TcpRow{"limited by", shares_text},
};

// Into `document`, which has its head already.
void add_to(Json& document, const tcp::Trial& test, const std::vector<Judged>& directions) {
  document["direction"] = name_of(test.parameters.direction);
  document["streams"] = test.parameters.streams;
  document["interrupted"] = test.interrupted;
  document["zero_copy"] = test.parameters.zero_copy;
  if (directions.size() == 1) {
    add_direction(document, directions.front());
    return;
  }
  for (const Judged& judged : directions) {
    add_direction(document[name_of(judged.outcome.direction)], judged);
  }
}

void print_page(const cli::Context& context, const tcp::Trial& test,
                const std::vector<Judged>& directions) {
  std::vector<cli::Column> columns{{""}};
  for (const Judged& judged : directions) {
    columns.push_back({direction_text(judged.outcome.direction)});
  }
  cli::Table table(columns);
  for (const TcpRow& row : kTcpRows) {
    std::vector<cli::Cell> cells{{std::string(row.title)}};
    for (const Judged& judged : directions) {
      cells.emplace_back(row.value(judged.outcome));
    }
    table.add(std::move(cells));
  }
  table.print(context.out, context.out_terminal);
  context.out << '\n';
  for (const Judged& judged : directions) {
    fmt::print(context.out, "{} it was limited by {}.\n", direction_text(judged.outcome.direction),
               judged.verdict.sentence);
  }
  if (test.interrupted) {
    context.out << "Interrupted: these are the results until then.\n";
  }
}

void TcpLive::show(tcp::Side side, const tcp::IntervalMeasure& interval) {
  if (!context_.err_terminal.interactive || context_.quiet) {
    return;
  }
  const bool sent = interval.role == tcp::Role::Send;
  // What the client receives, the server sent, and the other way round.
  const bool from_here = (side == tcp::Side::Client) == sent;
  Way& way = from_here ? to_peer_ : from_peer_;
  if (!sent && way.received) {
    print(from_here);
  }
  (sent ? way.sent : way.received) = interval;
  if (way.sent && way.received) {
    print(from_here);
  }
}

void TcpLive::print(bool from_here) {
  Way& way = from_here ? to_peer_ : from_peer_;
  const tcp::IntervalMeasure& received = *way.received;
  const double duration_s = received.end_s - received.start_s;
  const double bits = duration_s > 0 ? static_cast<double>(received.bytes) * 8 / duration_s : 0;
  std::string line = fmt::format("{} {:7.1f} s  {:>12}", from_here ? "->" : "<-", received.end_s,
                                 math::format_rate(bits));
  if (way.sent) {
    line += fmt::format("  retransmissions {:<6} cwnd {:>9}", way.sent->retransmits.value_or(0),
                        bytes_text(way.sent->cwnd_bytes));
    line += way.sent->rtt_ms ? fmt::format("  rtt {:.2f} ms", *way.sent->rtt_ms) : "";
  }
  context_.err << line << '\n' << std::flush;
  way = {};
}

class ProbeTcpCommand final : public cli::Command {
 public:
  cli::Summary summary() const override;
  void define(cli::Flags& flags) override;
  Result<cli::ExitCode> run(cli::Context& context) override;

 private:
  Result<tcp::Parameters> parameters() const;
  // Fits the time and the pace to the server's limits.
  void fit(tcp::Parameters& wanted, const control::Limits& limits,
           const cli::Context& context) const;
  Result<cli::ExitCode> run_against(Foreign foreign, const tcp::Parameters& wanted, int interrupt,
                                    cli::Json document, const cli::Context& context) const;
  // `document` names the peer already.
  Result<cli::ExitCode> show(const tcp::Trial& test, const std::string& peer, cli::Json document,
                             const cli::Context& context) const;

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

std::vector<Judged> judge_all(const tcp::Trial& test, const std::string& own,
                              const std::string& peer) {
  std::vector<Judged> judged;
  for (const Direction direction : {Direction::Send, Direction::Receive}) {
    if (test.parameters.direction != direction && test.parameters.direction != Direction::Both) {
      continue;
    }
    const bool sends = direction == Direction::Send;
    Judged one{.outcome = outcome_of(test, direction)};
    one.verdict = tcp::judge(one.outcome, test.parameters,
                             {.sender = sends ? own : peer, .receiver = sends ? peer : own});
    judged.push_back(std::move(one));
  }
  return judged;
}

cli::Summary ProbeTcpCommand::summary() const {
  return {.name = "probe tcp",
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

void ProbeTcpCommand::define(cli::Flags& flags) {
  flags.group("What to measure")
      .toggle("send,s", &send_, "from here to the peer (the default)")
      .toggle("receive,r", &receive_, "from the peer to here")
      .toggle("both,b", &both_, "both ways at once")
      .option("streams,n", &streams_, "N", "connections each way, a thread each", 1, 1024)
      .option("time,t", &time_, "TIME", "duration; 0: 10 s, or until --bytes are sent")
      .option("bytes", &bytes_, "SIZE", "amount to send each way; 0: until --time is over")
      .option("omit", &omit_, "TIME", "exclude this time at the start")
      .option("interval,i", &interval_, "TIME",
              "interval of the printed lines and of the rows of the result")
      .toggle("share", &share_, "run at the same time as other shared tests, instead of queueing")
      .group("How to send")
      .option("congestion", &congestion_, "NAME", "congestion control: cubic, bbr, reno …")
      .option("mss", &mss_, "BYTES", "largest segment; 0 leaves it to the kernel", 0, 32767)
      .option("window,w", &window_, "SIZE", "socket buffers; 0 leaves them to the kernel")
      .option("pace", &pace_, "RATE", "maximum rate of all streams together")
      .option("dscp", &dscp_, "N", "DSCP to mark packets with; -1: none", -1, 63)
      .choice("zero-copy", &zero_copy_, {"auto", "off"},
              "auto: no copy between program and kernel, at either end");
  control::define(flags, peer_);
  flags.choice("peer", &program_, peer_programs(), "program at the peer; its usual port is tried");
  baseline::define(flags, baseline_);
}

Result<tcp::Parameters> ProbeTcpCommand::parameters() const {
  if (send_ + receive_ + both_ > 1) {
    return fail(ErrorKind::Usage, "", "--send, --receive, --both", "give only one of them");
  }
  if (interval_ < std::chrono::milliseconds(10)) {
    return fail(ErrorKind::Usage, "", "--interval", "must be 10 ms or more");
  }
  tcp::Parameters parameters{.direction = receive_ ? Direction::Receive
                                          : both_  ? Direction::Both
                                                   : Direction::Send,
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

void ProbeTcpCommand::fit(tcp::Parameters& wanted, const control::Limits& limits,
                          const cli::Context& context) const {
  if (wanted.bytes && time_.count() == 0) {
    wanted.time = std::max(limits.longest_test - wanted.omit, std::chrono::nanoseconds(kTime));
  }
  const auto& most = limits.rate_bits_per_s;
  if (most && wanted.pace_bits_per_s.value_or(1e18) > *most) {
    wanted.pace_bits_per_s = most;
    fmt::print(context.err, "the server grants {} at most: paced to that\n",
               math::format_rate(*most));
  }
}

Result<cli::ExitCode> ProbeTcpCommand::run(cli::Context& context) {
  TRY(tcp::Parameters wanted, parameters());
  TRY(sys::Signals signals, sys::Signals::watch({SIGINT, SIGTERM}));
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
  client.bye();
  document["peer"] = peer_body(peer_, client);
  return show(test, client.admittance().server.host, std::move(document), context);
}

Result<cli::ExitCode> ProbeTcpCommand::run_against(Foreign foreign, const tcp::Parameters& wanted,
                                                   int interrupt, cli::Json document,
                                                   const cli::Context& context) const {
  TRY(const ForeignHost host, foreign_host(foreign, peer_, context));
  TcpLive live(context);
  TRY(const ForeignTrial test, run_foreign(foreign, host, wanted, context, interrupt,
                                           [&](tcp::Side side, const tcp::IntervalMeasure& each) {
                                             live.show(side, each);
                                           }));
  document["peer"] = foreign_body(peer_, test.peer, test.software);
  return show(test.trial, peer_.host, std::move(document), context);
}

Result<cli::ExitCode> ProbeTcpCommand::show(const tcp::Trial& test, const std::string& peer,
                                            cli::Json document, const cli::Context& context) const {
  const std::vector<Judged> judged = judge_all(test, sys::host_name(context.root), peer);
  add_to(document, test, judged);
  if (context.json) {
    cli::print(context, document);
  } else {
    print_page(context, test, judged);
  }
  const baseline::Finding finding{.kind = "tcp",
                                  .peer = peer,
                                  .direction = std::string(name_of(test.parameters.direction)),
                                  .document = document};
  TRY(keep(baseline_, finding, context));
  return test.interrupted ? cli::ExitCode::Interrupted : cli::ExitCode::Done;
}

}  // namespace

cli::CommandFactory tcp_command() { return cli::command<ProbeTcpCommand>(); }

}  // namespace chokepoint::probe
