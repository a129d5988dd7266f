#include "rdma/commands/rdma_test.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>

#include "base/cli/text.h"
#include "base/sys/root.h"
#include "base/sys/signals.h"
#include "rdma/commands/figures.h"
#include "rdma/commands/test_page.h"
#include "rdma/commands/test_report.h"

namespace chokepoint::rdma {
namespace {

using session::Round;
using session::Trial;

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

void tell(const cli::Context& context, const Trial& trial) {
  if (context.err_terminal.interactive && !context.quiet) {
    fmt::print(context.err, "{} at {} to {} at {}, MTU {} …\n", trial.client.device,
               session::text_of(trial.client.gid), cli::printable(trial.server.device),
               session::text_of(trial.server.gid), trial.agreement.mtu_bytes);
  }
}

// What a person likes to know while a sweep goes on.
void tell(const cli::Context& context, const Round& round) {
  if (!context.err_terminal.interactive || context.quiet) {
    return;
  }
  const Figures figures = figures_of(round);
  if (round.client.latency_ns) {
    fmt::print(context.err, "{:>8} B  median {:.2f} µs\n", round.plan.message_bytes,
               round.client.latency_ns->quantile(0.5) / 1000);
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

cli::Summary RdmaTestCommand::summary() const {
  const std::string name = fmt::format("rdma {}", name_of(verb_));
  return {
      .name = name,
      .purpose = std::string(purpose_of(verb_)),
      .description =
          "Runs a test between this host's RDMA port and that of a peer where 'chokepoint "
          "serve' runs: bw posts as much as fits, lat one request after another. Both sides "
          "agree on every parameter first and show what they agreed on. Afterwards it says "
          "what the ports counted meanwhile, and in one sentence whether the fabric was "
          "clean.\n\n"
          "Device and GID are those that belong to the address which the peer is reached by. "
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
                                       const session::PortWish& wish, int interrupt,
                                       const cli::Context& context) const {
  const bool sweep = wanted.sizes.size() > 1;
  const session::Listener listener{
      .waiting = [&](const std::string& why) { fmt::print(context.err, "waiting: {}\n", why); },
      .agreed = [&](const Trial& trial) { tell(context, trial); },
      .round =
          [&](const Round& round) {
            if (sweep) {
              tell(context, round);
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
  const Result<session::Parameters> wanted = parameters_of(test_, verb_);
  const Result<session::PortWish> wish = own_wish(test_);
  if (!wanted || !wish) {
    return std::unexpected(wanted ? wish.error() : wanted.error());
  }
  const Result<sys::Signals> signals = sys::Signals::watch({SIGINT, SIGTERM});
  if (!signals) {
    return std::unexpected(signals.error());
  }
  cli::Json document = cli::document(context, "chokepoint.rdma/1");
  TRY(control::Client client, control::connect(peer_, context, signals->descriptor()));
  TRY(const Trial trial, measure(client, *wanted, *wish, signals->descriptor(), context));
  client.bye();
  document["peer"] = control::peer_body(peer_, client);
  return show(trial, client.admittance().server.host, std::move(document), context);
}

std::vector<std::string> RdmaTestCommand::missed(const Trial& trial) const {
  std::vector<std::string> missed;
  for (const Round& round : trial.rounds) {
    const std::optional<double> average = figures_of(round).average_mbps;
    if (test_.min_mbps > 0 && trial.parameters.metric == perf::Metric::Bandwidth &&
        average.value_or(0) < test_.min_mbps) {
      missed.push_back(fmt::format("messages of {} B: {:.2f} Mb/s, wanted {:.2f} at least",
                                   round.plan.message_bytes, average.value_or(0), test_.min_mbps));
    }
    const auto& latency = round.client.latency_ns;
    if (test_.max_us > 0 && latency && latency->quantile(0.5) / 1000 > test_.max_us) {
      missed.push_back(fmt::format("messages of {} B: median {:.2f} µs, wanted {:.2f} at most",
                                   round.plan.message_bytes, latency->quantile(0.5) / 1000,
                                   test_.max_us));
    }
  }
  return missed;
}

Result<cli::ExitCode> RdmaTestCommand::show(const Trial& trial, const std::string& peer,
                                            cli::Json document, const cli::Context& context) const {
  const fabric::Judgement fabric = fabric::judge(trial.client_counters, trial.server_counters);
  const std::vector<std::string> short_of = missed(trial);
  add_to(document, trial, fabric);
  document["missed"] = short_of;
  if (context.json) {
    cli::print(context, document);
  } else {
    print_page(context, trial, fabric, peer);
    for (const std::string& each : short_of) {
      fmt::print(context.out, "Not enough: {}.\n", each);
    }
  }
  const baseline::Finding finding{
      .kind = "rdma",
      .peer = peer,
      .direction = trial.parameters.both_ways                             ? "both"
                   : trial.parameters.operation == verbs::Operation::Read ? "receive"
                                                                          : "send",
      .document = document};
  TRY(baseline::keep(baseline_, finding, context));
  if (trial.failure) {
    return fail(*trial.failure);
  }
  if (trial.interrupted) {
    return cli::ExitCode::Interrupted;
  }
  return short_of.empty() && !damaged(trial) ? cli::ExitCode::Done : cli::ExitCode::Found;
}

}  // namespace chokepoint::rdma
