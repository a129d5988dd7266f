// chokepoint probe paths: which member of a bundle is bad, by many short flows between this host
// and a peer. One thread, and those of the traces.
#include <fmt/format.h>
#include <fmt/ostream.h>

#include <chrono>
#include <string>
#include <vector>

#include "base/cli/command.h"
#include "base/control/client.h"
#include "base/math/units.h"
#include "base/sys/process.h"
#include "base/sys/signals.h"
#include "measure/baseline/baseline.h"
#include "probe/commands/kinds.h"
#include "probe/commands/paths_page.h"
#include "probe/paths/hops.h"
#include "probe/paths/outcome.h"
#include "probe/paths/rates.h"
#include "probe/paths/sweep.h"

namespace chokepoint::probe {
namespace {

using std::chrono::seconds;

constexpr std::int64_t kUsualPackets = 1000;
constexpr double kUsualBitsPerS = 10e6;
constexpr seconds kTcpTime{16};
constexpr seconds kTraceTime{8};
constexpr seconds kMargin{15};  // to be greeted, for stragglers, for a host that is slow

class ProbePathsCommand final : public cli::Command {
 public:
  cli::Summary summary() const override {
    return {
        .name = "probe paths",
        .purpose = "which member of a bundle (LAG, ECMP, bond) loses packets or is slower",
        .description =
            "Sends small UDP packets from many source ports to a peer that runs 'chokepoint "
            "serve', and back; with --protocol tcp data over many connections, one after the "
            "other, for the rate of each. Switches and routers put each flow on one of several "
            "parallel links by a hash of its addresses and ports, so flows over one bad link "
            "share its loss, delay or rate. The result names these flows, about how many members "
            "there are and the router that only these flows pass, for each direction.\n\n"
            "Differences that chance explains are no findings, and the verdict is 'unknown' where "
            "too little was sent to find one of --members that loses --loss-limit more than the "
            "others. Routers are seen only where they answer; links of a LAG never are.",
        .examples = {{"chokepoint probe paths voyager", "64 flows, 1000 packets each"},
                     {"chokepoint probe paths voyager --flows 128 --packets 2000 --loss-limit 0.2",
                      "a member that loses little"},
                     {"chokepoint probe paths voyager --rate 1M", "while a job runs"},
                     {"chokepoint probe paths voyager --protocol tcp", "the rate of each flow"}}};
  }

  void define(cli::Flags& flags) override {
    flags.group("What to send")
        .choice("protocol", &protocol_, {"udp", "tcp"},
                "udp: loss and delay of each flow; tcp: its rate to the peer")
        .option("flows", &flows_, "N", "flows, each with its own source port", paths::kMinFlows,
                paths::kMaxFlows)
        .option("packets", &packets_, "N",
                "packets of each flow, in each direction; 0: 1000, or by --time", 0,
                paths::kMaxPackets)
        .option("time,t", &time_, "TIME", "duration, instead of --packets; 0 with tcp: 16 s")
        .option("rate", &rate_, "RATE",
                "of all flows together, in each direction, headers included; 0: 10M by udp, as "
                "fast as possible by tcp")
        .option("source-port", &source_port_, "PORT",
                "first source port; ports in use are skipped; 0: any", 0, UINT16_MAX)
        .option("to-port", &to_port_, "PORT", "UDP port of the peer, from 1024 on; 0: any", 0,
                UINT16_MAX)
        .toggle("no-trace", &no_trace_, "do not search for the routers of each flow")
        .group("What to find")
        .option("members", &members_, "N", "number of parallel links, of which one may be bad", 2,
                64)
        .percent("loss-limit", &loss_limit_, "how much more the bad link loses than the others");
    control::define(flags, peer_);
    baseline::define(flags, baseline_);
  }

  Result<cli::ExitCode> run(cli::Context& context) override {
    TRY(baseline::check(baseline_));
    TRY(check());
    TRY(const sys::Signals signals, sys::Signals::watch_for_end());
    cli::Json document = cli::document(context, Fields<documents::ProbePaths>::kSchema);
    sys::raise_descriptor_limit();  // one per flow
    TRY(control::Client client, connect(peer_, context, signals.descriptor()));
    TRY(const documents::ProbePaths shown, measure(client, signals.descriptor(), context));
    baseline::ask_peer(client, baseline_, context, signals.descriptor(), document);
    client.bye();
    document.update(json::to_json(shown));
    return baseline::answer(context, baseline_,
                            {.kind = "paths",
                             .peer = client.admittance().server.host,
                             .direction = "both",
                             .document = std::move(document)},
                            shown.interrupted, [&] { print_page(context, shown); });
  }

 private:
  Result<> check() const {
    const auto wrong = [](std::string_view flag, std::string_view why) {
      return fail(ErrorKind::Usage, "", flag, why);
    };
    if (packets_ > 0 && time_.count() > 0) {
      return wrong("--packets, --time", "give only one of them");
    }
    if (packets_ > 0 && packets_ < paths::kMinPackets) {
      return wrong("--packets", fmt::format("must be {} or more", paths::kMinPackets));
    }
    if (time_.count() < 0) {
      return wrong("--time", "must be more than 0");
    }
    if (rate_.bits_per_second != 0 && rate_.bits_per_second < 1e4) {
      return wrong("--rate", "must be 10 kb/s or more");
    }
    if (by_tcp() && (packets_ > 0 || to_port_ > 0)) {
      return wrong(packets_ > 0 ? "--packets" : "--to-port", "is for --protocol udp");
    }
    if (to_port_ != 0 && to_port_ < paths::kMinPort) {
      return wrong("--to-port", fmt::format("must be {} or more, or 0", paths::kMinPort));
    }
    if (!(loss_limit_ > 0) || loss_limit_ > math::kPercent) {
      return wrong("--loss-limit", "a share of 0 to 100 percent, above 0");
    }
    return {};
  }

  bool by_tcp() const { return protocol_ == "tcp"; }
  double udp_bits_per_s() const {
    return rate_.bits_per_second > 0 ? rate_.bits_per_second : kUsualBitsPerS;
  }
  // Of each flow in each of two passes.
  std::chrono::nanoseconds tcp_slice() const {
    return (time_.count() > 0 ? time_ : std::chrono::nanoseconds(kTcpTime)) / (2 * flows_);
  }

  paths::Parameters tcp_parameters() const {
    return {.flows = static_cast<int>(flows_),
            .time = paths::longest_run(static_cast<std::size_t>(flows_), tcp_slice()) + kMargin,
            .bits_per_s = rate_.bits_per_second,
            .tcp = true};
  }

  // Time and rate give the packets where the user gave a time.
  Result<paths::Parameters> udp_parameters(net::Family family) const {
    paths::Parameters parameters{.flows = static_cast<int>(flows_),
                                 .packets = packets_ > 0 ? packets_ : kUsualPackets,
                                 .bits_per_s = udp_bits_per_s(),
                                 .port = static_cast<std::uint16_t>(to_port_)};
    if (time_.count() > 0) {
      const double bits =
          static_cast<double>(time_.count()) / math::kNsPerSecond * udp_bits_per_s();
      parameters.packets = static_cast<std::int64_t>(
          bits / (static_cast<double>(flows_) * paths::wire_bytes(family) * math::kBits));
      if (parameters.packets < paths::kMinPackets || parameters.packets > paths::kMaxPackets) {
        return fail(ErrorKind::Usage, "", "--time",
                    fmt::format("is {} packets of each flow at this --rate; {} to {} are possible",
                                parameters.packets, paths::kMinPackets, paths::kMaxPackets));
      }
    }
    if (flows_ * parameters.packets > paths::kMaxTotalPackets) {
      return fail(
          ErrorKind::Usage, "", "--flows, --packets",
          fmt::format("no more than {} packets of all flows together", paths::kMaxTotalPackets));
    }
    parameters.time = paths::duration(parameters, family) + kTraceTime + kMargin;
    return parameters;
  }

  Result<documents::ProbePaths> measure(control::Client& client, int interrupt,
                                        const cli::Context& context) const {
    TRY(documents::ProbePaths measured, by_tcp() ? measure_rates(client, interrupt, context)
                                                 : measure_packets(client, interrupt, context));
    measured.peer = peer_of(peer_, client);
    measured.interrupted = sys::is_readable(interrupt);
    return measured;
  }

  Result<documents::ProbePaths> measure_rates(control::Client& client, int interrupt,
                                              const cli::Context& context) const {
    const paths::Parameters parameters = tcp_parameters();
    TRY(paths::RateSweep sweep,
        paths::RateSweep::open(client, parameters, interrupt, waiting(context)));
    cli::Progress progress(context, "turns of flows", 2 * static_cast<std::uint64_t>(flows_));
    const std::int64_t began_ns = context.clock.monotonic_ns();
    TRY(sweep.run(tcp_slice(), interrupt, [&](std::uint64_t turns) { progress.update(turns); }));
    const std::int64_t took_ns = context.clock.monotonic_ns() - began_ns;
    TRY(const std::vector<paths::RateRecord> flows, sweep.close());
    documents::ProbePaths measured = paths::judged(flows);
    if (parameters.bits_per_s > 0) {
      measured.rate_mbps = parameters.bits_per_s / math::kMega;
    }
    measured.duration_s = static_cast<double>(took_ns) / math::kNsPerSecond;
    return measured;
  }

  Result<documents::ProbePaths> measure_packets(control::Client& client, int interrupt,
                                                const cli::Context& context) const {
    const net::Family family = client.peer().address.family();
    TRY(const paths::Parameters parameters, udp_parameters(family));
    TRY(paths::Sweep sweep,
        paths::Sweep::open(client, parameters, static_cast<std::uint16_t>(source_port_),
                           peer_.interface, interrupt, waiting(context)));
    TRY(send_all(sweep, parameters, interrupt, context));
    const std::vector<std::optional<paths::Hops>> hops = traces(sweep, interrupt, context);
    TRY(const paths::SweepRecord record, sweep.close());
    documents::ProbePaths measured = paths::judged(
        record, hops, {.members = static_cast<int>(members_), .loss_percent = loss_limit_});
    measured.packets_per_flow = parameters.packets;
    measured.packet_bytes = paths::wire_bytes(family);
    measured.rate_mbps = parameters.bits_per_s / math::kMega;
    measured.duration_s = static_cast<double>(record.time.count()) / math::kNsPerSecond;
    return measured;
  }

  static control::Waiting waiting(const cli::Context& context) {
    return [&context](const std::string& why) { fmt::print(context.err, "waiting: {}\n", why); };
  }

  static Result<> send_all(paths::Sweep& sweep, const paths::Parameters& parameters, int interrupt,
                           const cli::Context& context) {
    cli::Progress progress(context, "packets",
                           static_cast<std::uint64_t>(parameters.packets) *
                               static_cast<std::uint64_t>(parameters.flows));
    return sweep.run(interrupt, [&](std::uint64_t sent) { progress.update(sent); });
  }

  std::vector<std::optional<paths::Hops>> traces(const paths::Sweep& sweep, int interrupt,
                                                 const cli::Context& context) const {
    if (no_trace_ || sys::is_readable(interrupt)) {
      return {};
    }
    cli::show_progress(context, "the routers of each flow");
    std::vector<paths::TracedFlow> flows;
    for (std::size_t i = 0; i < sweep.flows(); ++i) {
      flows.push_back({.socket = sweep.socket(i), .flow = static_cast<std::uint32_t>(i)});
    }
    return paths::trace_flows(flows, sweep.test(), kTraceTime, interrupt, context.clock);
  }

  control::PeerFlags peer_;
  baseline::Flags baseline_;
  std::int64_t flows_ = 64;
  std::int64_t packets_ = 0;
  std::chrono::nanoseconds time_ = seconds(0);
  std::string protocol_ = "udp";
  math::Rate rate_;
  std::int64_t source_port_ = 40'000;
  std::int64_t to_port_ = 0;
  std::int64_t members_ = 8;
  double loss_limit_ = 1;
  bool no_trace_ = false;
};

}  // namespace

cli::CommandFactory paths_command() { return cli::command<ProbePathsCommand>(); }

}  // namespace chokepoint::probe
