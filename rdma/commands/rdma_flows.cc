// rdma … bw HOST --flows N: which of many flow labels are slower than the others. One thread.
#include <fmt/format.h>
#include <fmt/ostream.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/cli/text.h"
#include "base/json/codec.h"
#include "base/math/statistics.h"
#include "base/math/units.h"
#include "base/sys/process.h"
#include "base/sys/root.h"
#include "base/sys/signals.h"
#include "rdma/commands/rdma_test_report.h"

namespace chokepoint::rdma {
namespace {

using session::Trial;

// The control connection is not RDMA's: where it does not come about no flow is slow.
Error no_flows_fault(Error error) {
  error.kind = error.kind == ErrorKind::Timeout ? ErrorKind::Unreachable : error.kind;
  return error;
}

// Connects anew for each test.
class FlowRunner {
 public:
  FlowRunner(const FlowsAsked& asked, control::ClientOptions peer, const session::OpenLibrary& open,
             int interrupt, const cli::Context& context)
      : peer_(std::move(peer)),
        open_(open),
        here_{.root = context.root,
              .clock = context.clock,
              .wish = asked.wish,
              .host = sys::host_name(context.root),
              .interrupt = interrupt},
        listener_{.waiting = [this, &context](const std::string& why) { wait(why, context); },
                  .agreed = [](const Trial&) {},
                  .round = [](const session::Round&) {}} {}

  Result<Trial> test(const session::Parameters& parameters) {
    Result<control::Client> client =
        control::Client::connect(peer_, net::Deadline::of(control::kConnect, here_.interrupt));
    if (!client) {
      return fail(no_flows_fault(client.error()));
    }
    Result<Trial> trial = session::run(*client, parameters, open_(), here_, listener_);
    client->bye();
    client_.emplace(*std::move(client));
    if (trial && trial->client.gid_type != verbs::GidType::RoceV2) {
      return fail(ErrorKind::Usage, "", "--flows",
                  "only packets of RoCE v2 have a source port that a flow label chooses",
                  "leave it out, or choose a GID of RoCE v2: --gid-index, --roce v2");
    }
    return trial;
  }

  // Of the last test; after one that went well.
  const control::Client& client() const { return *client_; }

 private:
  // The test before may still have its turn for a moment: that is reported once.
  void wait(const std::string& why, const cli::Context& context) {
    if (!has_waited_) {
      fmt::print(context.err, "waiting: {}\n", cli::printable(why));
    }
    has_waited_ = true;
  }

  control::ClientOptions peer_;
  const session::OpenLibrary& open_;
  session::Here here_;
  session::Listener listener_;
  std::optional<control::Client> client_ = {};
  bool has_waited_ = false;
};

std::string rate_text(double mbps) { return math::format_rate(mbps * math::kMega); }

void print_slow(const cli::Context& context, const documents::RdmaFlowsFinding& slow,
                std::size_t flows) {
  constexpr std::size_t kMaxListedLabels = 16;
  const auto& members = slow.one_of_members;
  fmt::print(context.out,
             "{} {}, the others {}; {} of {} flows ({:.0f} to {:.0f} % of all) take {}\n",
             members ? fmt::format("about 1 of {} members carries", *members)
                     : std::string("most members carry"),
             rate_text(slow.rate_mbps), rate_text(slow.others_rate_mbps), slow.flows, flows,
             slow.share_percent.low, slow.share_percent.high, members ? "it" : "them");
  const std::vector<std::uint32_t>& labels = slow.flow_labels;
  fmt::print(context.out, "  flow labels: {}{}\n",
             fmt::join(std::span(labels).first(std::min(labels.size(), kMaxListedLabels)), ", "),
             labels.size() > kMaxListedLabels
                 ? fmt::format(" and {} more", labels.size() - kMaxListedLabels)
                 : "");
}

// Those that a test of failed: each reason once.
void print_failures(const cli::Context& context, const std::vector<documents::RdmaFlow>& flows) {
  std::vector<std::string> printed;
  for (const documents::RdmaFlow& flow : flows) {
    if (!flow.failure.empty() && std::ranges::find(printed, flow.failure) == printed.end()) {
      printed.push_back(flow.failure);
      fmt::print(context.out, "a test of flow label {} failed: {}\n", flow.flow_label,
                 cli::printable(flow.failure));
    }
  }
}

}  // namespace

void print_page(const cli::Context& context, const documents::RdmaFlows& shown) {
  std::vector<double> mbps;
  for (const documents::RdmaFlow& flow : shown.flows) {
    if (flow.rate_mbps) {
      mbps.push_back(*flow.rate_mbps);
    }
  }
  const math::Distribution rates = math::distribution(mbps);
  fmt::print(context.out, "{} flow labels from {} to {} at {}, one after the other, twice\n",
             shown.flows.size(), shown.device, cli::printable(shown.peer_device), shown.peer.host);
  if (rates.count > 0) {
    fmt::print(context.out, "rate of a flow alone: {} to {}, median {}\n", rate_text(rates.min),
               rate_text(rates.max), rate_text(rates.median));
  }
  context.out << '\n';
  for (const documents::RdmaFlowsFinding& slow : shown.findings) {
    print_slow(context, slow, shown.flows.size());
  }
  if (shown.verdict == documents::FlowsVerdict::Alike) {
    fmt::print(context.out, "All {} flows are alike.\n", shown.flows.size());
  } else if (shown.verdict == documents::FlowsVerdict::Unknown) {
    fmt::print(context.out, "Unknown: {}; give more --time.\n", shown.unknown_because);
  }
  print_failures(context, shown.flows);
  if (shown.interrupted) {
    context.out << "Interrupted: these are the results until then.\n";
  }
}

Result<cli::ExitCode> run_flows(const FlowsAsked& asked, const control::PeerFlags& peer,
                                const baseline::Flags& baseline, const session::OpenLibrary& open,
                                const cli::Context& context) {
  TRY(const sys::Signals signals, sys::Signals::watch_for_end());
  TRY(const control::ClientOptions options, client_options(peer, context));
  cli::Json document = cli::document(context, Fields<documents::RdmaFlows>::kSchema);
  FlowRunner runner(asked, options, open, signals.descriptor(), context);
  cli::Progress progress(context, "tests of flows", 2 * static_cast<std::uint64_t>(asked.flows));
  TRY(const session::FlowSweep sweep,
      session::sweep_flows(
          asked.test, asked.flows,
          [&](const session::Parameters& parameters) { return runner.test(parameters); },
          [&](std::uint64_t tests) { progress.update(tests); }));
  documents::RdmaFlows shown = session::judged(sweep);
  shown.peer = control::peer_of(peer, runner.client());
  baseline::ask_peer(options, baseline, context, signals.descriptor(), document);
  document.update(json::to_json(shown));
  const bool is_read = shown.operation == documents::RdmaOperation::Read;
  return baseline::answer(context, baseline,
                          {.kind = "rdma-flows",
                           .peer = runner.client().admittance().server.host,
                           .direction = is_read ? "receive" : "send",
                           .document = std::move(document)},
                          shown.interrupted, [&] { print_page(context, shown); });
}

}  // namespace chokepoint::rdma
