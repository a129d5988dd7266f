#include "probe/commands/probe_tcp.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include "base/sys/root.h"
#include "base/sys/signals.h"
#include "probe/commands/tcp_report.h"
#include "probe/tcp/outcome.h"
#include "probe/tcp/verdict.h"

namespace chokepoint::probe {
namespace {

using tcp::Direction;

constexpr std::chrono::seconds kTime{10};

std::vector<Direction> directions_of(Direction direction) {
  if (direction == Direction::Both) {
    return {Direction::Send, Direction::Receive};
  }
  return {direction};
}

std::vector<Judged> judge_all(const tcp::Trial& test, const std::string& own,
                              const std::string& peer) {
  std::vector<Judged> judged;
  for (const Direction direction : directions_of(test.parameters.direction)) {
    const bool sends = direction == Direction::Send;
    Judged one{.outcome = outcome_of(test, direction)};
    one.verdict = tcp::judge(one.outcome, test.parameters,
                             {.sender = sends ? own : peer, .receiver = sends ? peer : own});
    judged.push_back(std::move(one));
  }
  return judged;
}

}  // namespace

cli::Summary ProbeTcpCommand::summary() const {
  return {.name = "probe tcp",
          .purpose = "what does this path carry over TCP, each way, and what limits it?",
          .description =
              "Sends data over one or more TCP connections to a peer that runs 'chokepoint serve', "
              "or has it sent here, and says how fast it arrived, what was retransmitted, how the "
              "congestion window and the round-trip time stood, what both hosts' processors did, "
              "and in one sentence what limited it. Bytes and time are the receiver's; the state "
              "of the connections is what the sender's kernel knows.\n\n"
              "Tests that fill the path queue at the server, one after the other; --share lets "
              "them run beside others that share.",
          .examples = {{"chokepoint probe tcp voyager", "ten seconds to the peer"},
                       {"chokepoint probe tcp voyager --both --streams 4",
                        "both ways at once, four connections each way"},
                       {"chokepoint probe tcp voyager --receive --record runs/a",
                        "from the peer to here, kept as a baseline for later diagnosis"}}};
}

void ProbeTcpCommand::define(cli::Flags& flags) {
  flags.group("What to measure")
      .toggle("send,s", &send_, "from here to the peer (so it is without a direction)")
      .toggle("receive,r", &receive_, "from the peer to here")
      .toggle("both,b", &both_, "both ways at once")
      .option("streams,n", &streams_, "N", "connections each way, a thread each", 1, 1024)
      .option("time,t", &time_, "TIME", "how long to send; 0: 10 s, or until --bytes are sent")
      .option("bytes", &bytes_, "SIZE", "how much to send each way; 0: as much as it takes")
      .option("omit", &omit_, "TIME", "do not count this much at the start")
      .option("interval,i", &interval_, "TIME", "a line, and a row of the result, this often")
      .toggle("share", &share_, "run beside other tests that share, instead of queueing")
      .group("How to send")
      .option("congestion", &congestion_, "NAME", "congestion control: cubic, bbr, reno …")
      .option("mss", &mss_, "BYTES", "largest segment; 0 leaves it to the kernel", 0, 32767)
      .option("window,w", &window_, "SIZE", "socket buffers; 0 leaves them to the kernel")
      .option("pace", &pace_, "RATE", "no faster than this, all streams together")
      .option("dscp", &dscp_, "N", "mark packets with this; -1 leaves them unmarked", -1, 63)
      .choice("zero-copy", &zero_copy_, {"auto", "off"},
              "auto: no copy between program and kernel, at either end");
  control::define(flags, peer_);
  flags.choice("peer", &program_, peer_programs(), "what answers there; its usual port is found");
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
  Result<sys::Signals> signals = sys::Signals::watch({SIGINT, SIGTERM});
  if (!signals) {
    return std::unexpected(signals.error());
  }
  cli::Json document = cli::document(context, "chokepoint.probe.tcp/1");
  if (const Foreign foreign = foreign_named(program_); foreign != Foreign::None) {
    return run_against(foreign, wanted, signals->descriptor(), std::move(document), context);
  }
  TRY(control::Client client, connect(peer_, context, signals->descriptor()));
  fit(wanted, client.admittance().limits, context);
  TcpLive live(context);
  const Result<tcp::Trial> test = tcp::run(
      client, wanted, context.root, signals->descriptor(),
      [&](tcp::Side side, const tcp::IntervalMeasure& each) { live.show(side, each); },
      [&](const std::string& why) { fmt::print(context.err, "waiting: {}\n", why); });
  if (!test) {
    return std::unexpected(test.error());
  }
  client.bye();
  document["peer"] = peer_body(peer_, client);
  return show(*test, client.admittance().server.host, std::move(document), context);
}

Result<cli::ExitCode> ProbeTcpCommand::run_against(Foreign foreign, const tcp::Parameters& wanted,
                                                   int interrupt, cli::Json document,
                                                   const cli::Context& context) const {
  TRY(const ForeignHost host, foreign_host(foreign, peer_, context));
  TcpLive live(context);
  const Result<ForeignTrial> test =
      run_foreign(foreign, host, wanted, context, interrupt,
                  [&](tcp::Side side, const tcp::IntervalMeasure& each) { live.show(side, each); });
  if (!test) {
    return std::unexpected(test.error());
  }
  document["peer"] = foreign_body(peer_, test->peer, test->software);
  return show(test->trial, peer_.host, std::move(document), context);
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

}  // namespace chokepoint::probe
