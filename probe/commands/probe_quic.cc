// chokepoint probe quic: what a path carries over QUIC, each way, and what limits it. The document
// chokepoint.probe.quic/1 and one live line per interval. One thread.
#include <fmt/format.h>
#include <fmt/ostream.h>

#include <string>

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
#include "probe/commands/quic_beside.h"
#include "probe/commands/quic_page.h"
#include "probe/quic/connection.h"
#include "probe/quic/outcome.h"
#include "probe/quic/perf_client.h"
#include "probe/quic/test.h"

namespace chokepoint::probe {
namespace {

using quic::Direction;

// A line on standard error for each interval of a receiver, on a terminal only.
class QuicLive {
 public:
  explicit QuicLive(const cli::Context& context) : context_(context) {}
  void show(quic::Side side, const quic::IntervalMeasure& interval) const {
    if (!context_.err_terminal.interactive || context_.quiet || interval.received_bytes == 0) {
      return;
    }
    const double duration_s = interval.end_s - interval.start_s;
    const double bits =
        duration_s > 0 ? static_cast<double>(interval.received_bytes) * math::kBits / duration_s
                       : 0;
    fmt::print(context_.err, "{} {:7.1f} s  {:>12}\n", side == quic::Side::Server ? "->" : "<-",
               interval.end_s, math::format_rate(bits));
    context_.err << std::flush;
  }

 private:
  const cli::Context& context_;
};

std::vector<quic::Outcome> judge_all(const quic::Trial& test, const std::string& own,
                                     const std::string& peer) {
  std::vector<quic::Outcome> outcomes;
  for (const Direction direction : {Direction::Send, Direction::Receive}) {
    if (test.parameters.direction == direction || test.parameters.direction == Direction::Both) {
      const bool sends = direction == Direction::Send;
      quic::Outcome& outcome = outcomes.emplace_back(quic::outcome_of(test, direction));
      quic::Verdict verdict = quic::judge(
          outcome, test.parameters, {.sender = sends ? own : peer, .receiver = sends ? peer : own});
      outcome.figures.limit = verdict.limit;
      outcome.figures.summary = std::move(verdict.sentence);
    }
  }
  return outcomes;
}

class ProbeQuicCommand final : public cli::Command {
 public:
  cli::Summary summary() const override {
    return {
        .name = "probe quic",
        .purpose = "QUIC throughput of a path in each direction, and what limits it",
        .description =
            "Sends data over the streams of one QUIC connection to a peer that runs 'chokepoint "
            "serve', or receives it, and reports throughput, packets lost and retransmitted, "
            "round-trip time, the times of a full handshake and of a resumed one (0-RTT), CPU use "
            "of both hosts, and in one sentence what limited it. 'chokepoint probe tcp' and "
            "'chokepoint probe udp' show what the same path carries by other protocols.\n\n"
            "The QUIC library is ngtcp2 at both ends. A connection has one thread at each end.\n\n"
            "With '--peer-program perf' the peer is a server of another implementation of QUIC's "
            "protocol "
            "perf, such as picoquic's, quinn's or msquic's. It reports nothing, and its "
            "certificate is not verified. Its UDP port is 4433 unless --port is given.",
        .examples = {{"chokepoint probe quic voyager", "ten seconds to the peer"},
                     {"chokepoint probe quic voyager --both --streams 4",
                      "both directions at once, four streams in each direction"},
                     {"chokepoint probe quic voyager --segmentation on,off --repeat 10",
                      "whether segmentation by the kernel changes anything"}}};
  }

  void define(cli::Flags& flags) override {
    flags.group("What to measure")
        .toggle("send", &send_, "from here to the peer (the default)")
        .toggle("receive,R", &receive_, "from the peer to here")
        .toggle("both", &both_, "both directions at once")
        .option("streams,P", &streams_, "N", "streams in each direction, of one connection", 1,
                1024)
        .option("time,t", &time_, "TIME", "duration")
        .option("interval", &interval_, "TIME",
                "interval of the printed lines and of the rows of the result")
        .toggle("beside", &beside_, "short tests of TCP and UDP afterwards, for comparison")
        .toggle("share", &share_, "run at the same time as other shared tests, instead of queueing")
        .group("How to send")
        .choice("congestion", &congestion_, {"cubic", "bbr", "reno"},
                "congestion control, of the QUIC library")
        .option("window", &window_, "SIZE",
                "flow control window that a receiver grants, for each stream and for all together")
        .option("rate", &pace_, "RATE", "maximum rate of all streams together")
        .formerly("pace")
        .choice("segmentation", &segmentation_, {"on", "off"},
                "the kernel cuts and joins packets (UDP_SEGMENT, UDP_GRO)");
    control::define(flags, peer_);
    flags
        .choice("peer-program", &program_, quic_peer_programs(),
                "what runs at the peer; its usual port is tried")
        .formerly("peer");
    baseline::define(flags, baseline_);
  }

  Result<cli::ExitCode> run(cli::Context& context) override {
    TRY(quic::can_quic());
    TRY(baseline::check(baseline_));
    TRY(quic::Parameters wanted, parameters());
    TRY(const sys::Signals signals, sys::Signals::watch_for_end());
    cli::Json document = cli::document(context, Fields<documents::ProbeQuic>::kSchema);
    if (const Foreign foreign = foreign_named(program_); foreign != Foreign::None) {
      return run_against(foreign, wanted, signals.descriptor(), std::move(document), context);
    }
    TRY(control::Client client, connect(peer_, context, signals.descriptor()));
    fit_pace(wanted.pace_bits_per_s, client.admittance().limits, context);
    const QuicLive live(context);
    QuicMeasured measured;
    TRY(measured.trial,
        quic::run(
            client, wanted, {.root = context.root, .interrupt = signals.descriptor()},
            [&](quic::Side side, const quic::IntervalMeasure& each) { live.show(side, each); },
            [&](const std::string& why) { fmt::print(context.err, "waiting: {}\n", why); }));
    const documents::Peer peer = peer_of(peer_, client);
    measured.directions = judge_all(measured.trial, sys::host_name(context.root), peer.called());
    if (beside_ && !measured.trial.interrupted) {
      compare(client, measured, context, signals.descriptor());
    }
    baseline::ask_peer(client, baseline_, context, signals.descriptor(), document);
    client.bye();
    return show(measured, peer, std::move(document), context);
  }

 private:
  Result<quic::Parameters> parameters() const {
    TRY(const Direction direction, direction_of(send_, receive_, both_));
    TRY(check_time(time_));
    TRY(check_interval(interval_));
    if (window_.count < quic::kMinWindowBytes || window_.count > quic::kMaxWindowBytes) {
      return fail(ErrorKind::Usage, "", "--window", "must be 4 KiB to 1 TiB");
    }
    quic::Parameters parameters{.direction = direction,
                                .streams = static_cast<int>(streams_),
                                .time = time_,
                                .interval = interval_,
                                .window_bytes = window_.count,
                                .segmentation = segmentation_ == "on",
                                .share = share_};
    parameters.congestion =
        named<documents::QuicCongestion>(congestion_).value_or(parameters.congestion);
    if (pace_.bits_per_second > 0) {
      parameters.pace_bits_per_s = pace_.bits_per_second;
    }
    return parameters;
  }

  // Where it fails, what QUIC carried is still known.
  static void compare(control::Client& client, QuicMeasured& measured, const cli::Context& context,
                      int interrupt) {
    const Result<> done =
        run_beside(client, measured.trial.parameters, context.root, interrupt, measured.directions);
    if (!done) {
      measured.trial.interrupted = done.error().kind == ErrorKind::Interrupted;
      fmt::print(context.err, "no comparison: {}\n", describe(done.error()));
    }
  }

  Result<cli::ExitCode> run_against(Foreign foreign, const quic::Parameters& wanted, int interrupt,
                                    cli::Json document, const cli::Context& context) const {
    if (beside_) {
      return fail(ErrorKind::Usage, "", "--beside", "needs 'chokepoint serve' at the peer");
    }
    TRY(const ForeignHost host, foreign_host(foreign, peer_, interrupt, context));
    const QuicLive live(context);
    TRY(quic::PerfTest test,
        quic::run_perf(host, wanted, [&](quic::Side side, const quic::IntervalMeasure& each) {
          live.show(side, each);
        }));
    QuicMeasured measured{.trial = std::move(test.trial)};
    measured.directions = judge_all(measured.trial, sys::host_name(context.root), peer_.host);
    return show(measured, foreign_peer(peer_, test.peer, "perf"), std::move(document), context);
  }

  // `document` has its head already.
  Result<cli::ExitCode> show(const QuicMeasured& measured, const documents::Peer& peer,
                             cli::Json document, const cli::Context& context) const {
    document.update(json::to_json(document_of(measured, peer)));
    return baseline::answer(context, baseline_,
                            {.kind = "quic",
                             .peer = peer.called(),
                             .direction = std::string(name_of(measured.trial.parameters.direction)),
                             .document = std::move(document)},
                            measured.trial.interrupted, [&] { print_page(context, measured); });
  }

  control::PeerFlags peer_;
  std::string program_ = "chokepoint";
  baseline::Flags baseline_;
  bool send_ = false;
  bool receive_ = false;
  bool both_ = false;
  std::int64_t streams_ = 1;
  std::chrono::nanoseconds time_ = std::chrono::seconds(10);
  std::chrono::nanoseconds interval_ = std::chrono::seconds(1);
  std::string congestion_ = "cubic";
  math::Bytes window_{std::uint64_t{16} << 20};
  math::Rate pace_;
  std::string segmentation_ = "on";
  bool share_ = false;
  bool beside_ = false;
};

}  // namespace

cli::CommandFactory quic_command() {
  return trials::repeatable(cli::command<ProbeQuicCommand>(),
                            documents::figures_of(documents::schemas::kQuic));
}

}  // namespace chokepoint::probe
