// chokepoint probe udp: what a path carries over UDP, each way, and where the rest is lost.
// Searches for the highest rate that arrives whole, or holds a given one. One thread.
#include <fmt/format.h>
#include <fmt/ostream.h>

#include <functional>
#include <string>
#include <vector>

#include "base/cli/command.h"
#include "base/control/client.h"
#include "base/json/codec.h"
#include "base/math/units.h"
#include "base/net/headers.h"
#include "base/sys/root.h"
#include "base/sys/signals.h"
#include "measure/baseline/baseline.h"
#include "measure/trials/trials.h"
#include "probe/commands/directions.h"
#include "probe/commands/flag_checks.h"
#include "probe/commands/foreign_peer.h"
#include "probe/commands/kinds.h"
#include "probe/commands/udp_page.h"
#include "probe/udp/packet.h"
#include "probe/udp/parameters.h"
#include "probe/udp/search.h"
#include "probe/udp/test.h"

namespace chokepoint::probe {
namespace {

using udp::Direction;

// If a rate that the search found does not hold for a whole run, this often a lower one is tried.
constexpr int kMaxAttempts = 4;
constexpr double kRateReduction = 0.97;
// Fits an Ethernet frame in both families, with room for a tunnel's header: iperf3's choice.
constexpr std::size_t kForeignPacketBytes = 1448;

class ProbeUdpCommand final : public cli::Command {
 public:
  cli::Summary summary() const override {
    return {
        .name = "probe udp",
        .purpose = "UDP throughput of a path in each direction, and where packets are lost",
        .description =
            "Sends evenly paced UDP packets to a peer that runs 'chokepoint serve', or receives "
            "them, and reports how many arrived, were lost, reordered or duplicated, how the delay "
            "varied, and whether the network or the receiving host dropped them. Rates are of "
            "payload.\n\n"
            "Without --rate it searches by short trials for the highest rate that arrives with "
            "less than --loss-limit of loss, then holds that rate for --time.",
        .examples = {{"chokepoint probe udp voyager", "the highest rate to the peer"},
                     {"chokepoint probe udp voyager --rate 500M --receive",
                      "500 Mb/s from the peer to here"},
                     {"chokepoint probe udp voyager --both --rate 1G --time 30",
                      "1 Gb/s in each direction at once, for half a minute"}}};
  }

  void define(cli::Flags& flags) override {
    flags.group("What to measure")
        .toggle("send", &send_, "from here to the peer (the default)")
        .toggle("receive,R", &receive_, "from the peer to here")
        .toggle("both", &both_, "both directions at once")
        .option("rate", &rate_, "RATE",
                "rate of all streams together, in each direction; default: search for the highest")
        .toggle("unpaced", &unpaced_, "as fast as the sender can, with any loss")
        .percent("loss-limit", &loss_limit_, "maximum acceptable loss in the search")
        .option("streams,P", &streams_, "N", "flows in each direction, a thread each", 1, 64)
        .option("time,t", &time_, "TIME", "duration")
        .option("interval", &interval_, "TIME",
                "interval of the printed lines and of the rows of the result")
        .toggle("share", &share_, "run at the same time as other shared tests, instead of queueing")
        .group("How to send")
        .option("bytes,l", &bytes_, "SIZE",
                "payload of a packet; 0: the largest in one Ethernet frame")
        .option("dscp", &dscp_, "N", "DSCP to mark packets with; -1: none", -1, 63);
    control::define(flags, peer_);
    flags
        .choice("peer-program", &program_, peer_programs(),
                "what runs at the peer; its usual port is tried")
        .formerly("peer");
    baseline::define(flags, baseline_);
  }

  Result<cli::ExitCode> run(cli::Context& context) override {
    TRY(baseline::check(baseline_));
    TRY(const udp::Parameters wanted, parameters());
    TRY(sys::Signals signals, sys::Signals::watch_for_end());
    cli::Json document = cli::document(context, Fields<documents::ProbeUdp>::kSchema);
    if (const Foreign foreign = foreign_named(program_); foreign != Foreign::None) {
      return run_against(foreign, wanted, signals.descriptor(), std::move(document), context);
    }
    TRY(control::Client client, connect(peer_, context, signals.descriptor()));
    net::SocketOptions options;
    if (dscp_ >= 0) {
      options.dscp = static_cast<int>(dscp_);
    }
    TRY(udp::Test test,
        udp::Test::open(client, wanted, options, signals.descriptor(), [&](const std::string& why) {
          fmt::print(context.err, "waiting: {}\n", why);
        }));
    const double most = client.admittance().limits.rate_bits_per_s.value_or(0);
    TRY(const UdpMeasured measured, measure(test, wanted, most, context));
    if (const Result<> closed = test.close(); closed) {
      baseline::ask_peer(client, baseline_, context, signals.descriptor(), document);
      client.bye();
    }
    return show(measured, client, std::move(document), context);
  }

 private:
  Result<udp::Parameters> parameters() const {
    const auto wrong = [](std::string_view flag, std::string_view why) {
      return fail(ErrorKind::Usage, "", flag, why);
    };
    TRY(const Direction direction, direction_of(send_, receive_, both_));
    if (unpaced_ && rate_.bits_per_second > 0) {
      return wrong("--rate, --unpaced", "give only one of them");
    }
    TRY(check_time(time_));
    TRY(check_interval(interval_));
    if (loss_limit_ < 0 || loss_limit_ >= math::kPercent) {
      return wrong("--loss-limit", "a share of 0 to 100 percent");
    }
    if (bytes_.count != 0 &&
        (bytes_.count < udp::kHeadBytes || bytes_.count > net::kMaxUdpPayloadBytes)) {
      return wrong("--bytes", fmt::format("give {} to {} bytes, or 0", udp::kHeadBytes,
                                          net::kMaxUdpPayloadBytes));
    }
    udp::Parameters parameters{.direction = direction,
                               .streams = static_cast<int>(streams_),
                               .time = time_,
                               .share = share_};
    if (unpaced_ || rate_.bits_per_second > 0) {
      parameters.bits_per_s = rate_.bits_per_second;
    }
    return parameters;
  }

  Result<UdpMeasured> measure(udp::Test& test, const udp::Parameters& parameters,
                              double max_bits_per_s, const cli::Context& context) const {
    const std::optional<udp::ClockOffset> before = test.measure_clock();
    UdpMeasured measured{
        .parameters = parameters,
        .plan = {.run = 1,
                 .packet_bytes = bytes_.count > 0 ? static_cast<std::size_t>(bytes_.count)
                                                  : test.usual_packet_bytes(),
                 .bits_per_s = parameters.bits_per_s.value_or(0),
                 .time = time_,
                 .interval = interval_,
                 .peer_clock = before},
        .max_loss = loss_limit_ / math::kPercent};
    if (!parameters.bits_per_s) {
      TRY(search(test, measured, max_bits_per_s, context));
    }
    if (!measured.result.interrupted) {
      TRY(run_for_the_result(test, measured, context));
    }
    measured.clock = udp::combined(before, test.measure_clock());
    return measured;
  }

  Result<> search(udp::Test& test, UdpMeasured& measured, double max_bits_per_s,
                  const cli::Context& context) const {
    const UdpLive live(context);
    TRY(udp::Found found, udp::find_highest_rate(test, measured.plan,
                                                 {.direction = measured.parameters.direction,
                                                  .max_loss = measured.max_loss,
                                                  .max_bits_per_s = max_bits_per_s},
                                                 [&](const udp::Trial& trial, udp::TrialEnd end) {
                                                   live.show(trial, end);
                                                 }));
    measured.searched = true;
    measured.trials = found.trials;
    measured.obstacle = found.obstacle;
    measured.plan.bits_per_s = found.bits_per_s;
    if (found.interrupted || found.bits_per_s <= 0) {
      measured.result = std::move(*found.best);
      measured.result.interrupted = found.interrupted;
      measured.plan = found.best_plan;
      measured.only_trials = true;
    }
    return {};
  }

  Result<> run_for_the_result(udp::Test& test, UdpMeasured& measured,
                              const cli::Context& context) const {
    if (measured.only_trials) {
      return {};
    }
    for (int attempt = 1; attempt <= kMaxAttempts; ++attempt) {
      UdpLive live(context);
      TRY(measured.result, test.run(measured.plan, [&](const udp::Live& state) {
        live.show(state, measured.parameters.direction, measured.plan.interval);
      }));
      const udp::Trial trial = udp::trial_of(
          udp::outcomes_of(measured.result, measured.plan, measured.parameters.direction),
          measured.plan.bits_per_s);
      if (!measured.searched || measured.result.interrupted || attempt == kMaxAttempts ||
          trial.loss <= measured.max_loss) {
        return {};
      }
      // The rate held for a trial, but not for the whole run.
      const udp::TrialEnd end = udp::judge(trial, measured.max_loss);
      live.show(trial, end);
      ++measured.plan.run;
      if (end != udp::TrialEnd::Stalled) {
        measured.obstacle = trial;
        measured.plan.bits_per_s *= kRateReduction;
      }
    }
    return {};
  }

  Result<cli::ExitCode> run_against(Foreign foreign, const udp::Parameters& wanted, int interrupt,
                                    cli::Json document, const cli::Context& context) const {
    if (!wanted.bits_per_s) {
      return fail(ErrorKind::Usage, "", "--rate", "is missing",
                  "give a rate, or --unpaced: the search for one needs 'chokepoint serve'");
    }
    TRY(const ForeignHost host, foreign_host(foreign, peer_, interrupt, context));
    const ForeignUdpPlan plan{
        .parameters = wanted,
        .packet_bytes =
            bytes_.count > 0 ? static_cast<std::size_t>(bytes_.count) : kForeignPacketBytes,
        .dscp = dscp_ >= 0 ? std::optional(static_cast<int>(dscp_)) : std::nullopt};
    TRY(const ForeignUdp measured, run_foreign(foreign, host, plan));
    documents::ProbeUdp figures =
        document_of(wanted, plan.packet_bytes, wanted.bits_per_s.value_or(0), measured.directions);
    figures.peer = foreign_peer(peer_, measured.peer, measured.software);
    figures.interrupted = measured.interrupted;
    return answer(figures, std::move(document), context, [&] { print_page(context, measured); });
  }

  Result<cli::ExitCode> show(const UdpMeasured& measured, const control::Client& client,
                             cli::Json document, const cli::Context& context) const {
    const documents::Peer peer = peer_of(peer_, client);
    const std::vector<udp::Outcome> judged =
        judge_all(measured, sys::host_name(context.root), peer.called());
    documents::ProbeUdp figures = document_of(measured, judged);
    figures.peer = peer;
    return answer(figures, std::move(document), context,
                  [&] { print_page(context, measured, judged); });
  }

  // `document` has its head already.
  Result<cli::ExitCode> answer(const documents::ProbeUdp& figures, cli::Json document,
                               const cli::Context& context,
                               const std::function<void()>& print_page) const {
    document.update(json::to_json(figures));
    return baseline::answer(context, baseline_,
                            {.kind = "udp",
                             .peer = figures.peer.called(),
                             .direction = std::string(name_of(figures.direction)),
                             .document = std::move(document)},
                            figures.interrupted, print_page);
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
  math::Rate rate_;
  bool unpaced_ = false;
  double loss_limit_ = 0.1;
  math::Bytes bytes_;
  std::int64_t dscp_ = -1;
  bool share_ = false;
};

}  // namespace

cli::CommandFactory udp_command() {
  return trials::repeatable(cli::command<ProbeUdpCommand>(),
                            documents::figures_of(documents::schemas::kUdp));
}

}  // namespace chokepoint::probe
