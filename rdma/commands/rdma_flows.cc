// rdma … bw HOST --flows N: which of many flow labels are slower than the others. One thread.
#include <fmt/format.h>
#include <fmt/ostream.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/cli/text.h"
#include "base/control/bodies.h"
#include "base/math/statistics.h"
#include "base/math/units.h"
#include "base/sys/process.h"
#include "base/sys/root.h"
#include "base/sys/signals.h"
#include "rdma/commands/rdma_test_report.h"

namespace chokepoint::rdma {
namespace {

using cli::Json;
using control::or_null;
using math::kPercent;
using session::FlowRate;
using session::FlowVerdict;
using session::SlowFlows;
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
  // The test before may still have its turn for a moment: this is told once.
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

std::vector<std::uint32_t> labels_of(const FlowsShown& shown, const SlowFlows& slow) {
  std::vector<std::uint32_t> labels;
  for (const std::size_t flow : slow.flows) {
    labels.push_back(shown.sweep.flows[flow].label);
  }
  return labels;
}

std::vector<std::uint16_t> ports_of(const FlowsShown& shown, const SlowFlows& slow) {
  std::vector<std::uint16_t> ports;
  for (const std::uint32_t label : labels_of(shown, slow)) {
    ports.push_back(session::source_port_of(label));
  }
  return ports;
}

Json slow_body(const FlowsShown& shown, const SlowFlows& slow) {
  return {{"p_value", slow.p},
          {"flows", slow.flows.size()},
          {"share_percent",
           {{"likely", slow.share.likely * kPercent},
            {"low", slow.share.low * kPercent},
            {"high", slow.share.high * kPercent}}},
          {"one_of_members", or_null(math::one_of(slow.share))},
          {"rate_mbps", slow.mbps},
          {"others_rate_mbps", slow.others_mbps},
          {"flow_labels", labels_of(shown, slow)},
          {"source_ports", ports_of(shown, slow)}};
}

Json flow_body(const FlowRate& flow) {
  const bool is_known = flow.first_mbps && flow.second_mbps;
  return {{"flow_label", flow.label},
          {"source_port", session::source_port_of(flow.label)},
          {"rate_mbps", is_known ? Json((*flow.first_mbps + *flow.second_mbps) / 2) : Json()},
          {"first_mbps", or_null(flow.first_mbps)},
          {"second_mbps", or_null(flow.second_mbps)},
          {"failure", flow.failure.empty() ? Json() : Json(flow.failure)}};
}

std::string rate_text(double mbps) { return math::format_rate(mbps * math::kMega); }

void print_slow(const cli::Context& context, const FlowsShown& shown, const SlowFlows& slow) {
  constexpr std::size_t kMost = 16;
  const std::optional<long> members = math::one_of(slow.share);
  fmt::print(context.out,
             "{} {}, the others {}; {} of {} flows ({:.0f} to {:.0f} % of all) take {}\n",
             members ? fmt::format("about 1 of {} members carries", *members)
                     : std::string("most members carry"),
             rate_text(slow.mbps), rate_text(slow.others_mbps), slow.flows.size(),
             shown.sweep.flows.size(), slow.share.low * kPercent, slow.share.high * kPercent,
             members ? "it" : "them");
  const std::vector<std::uint32_t> labels = labels_of(shown, slow);
  fmt::print(context.out, "  flow labels: {}{}\n",
             fmt::join(std::span(labels).first(std::min(labels.size(), kMost)), ", "),
             labels.size() > kMost ? fmt::format(" and {} more", labels.size() - kMost) : "");
}

// Those that a test of failed: each reason once.
void print_failures(const cli::Context& context, const FlowsShown& shown) {
  std::vector<std::string> told;
  for (const FlowRate& flow : shown.sweep.flows) {
    if (!flow.failure.empty() && std::ranges::find(told, flow.failure) == told.end()) {
      told.push_back(flow.failure);
      fmt::print(context.out, "a test of flow label {} failed: {}\n", flow.label,
                 cli::printable(flow.failure));
    }
  }
}

}  // namespace

void add_to(Json& document, const FlowsShown& shown) {
  const Trial& trial = shown.sweep.trial;
  const session::Parameters& asked = trial.parameters;
  document["operation"] = name_of(asked.operation);
  document["device"] = trial.client.device;
  document["peer_device"] = trial.server.device;
  document["gid"] = session::text_of(trial.client.gid);
  document["peer_gid"] = session::text_of(trial.server.gid);
  document["mtu_bytes"] = trial.agreement.mtu_bytes;
  document["message_bytes"] = asked.sizes.front();
  document["test_s"] =
      asked.time ? Json(std::chrono::duration<double>(*asked.time).count()) : Json();
  document["verdict"] = name_of(shown.judgement.verdict);
  document["unknown_because"] = shown.judgement.why.empty() ? Json() : Json(shown.judgement.why);
  document["findings"] = control::list_body(
      shown.judgement.findings, [&](const SlowFlows& slow) { return slow_body(shown, slow); });
  document["flows"] = control::list_body(shown.sweep.flows, flow_body);
  document["interrupted"] = shown.sweep.interrupted;
}

void print_page(const cli::Context& context, const FlowsShown& shown) {
  const Trial& trial = shown.sweep.trial;
  std::vector<double> mbps;
  for (const FlowRate& flow : shown.sweep.flows) {
    if (flow.first_mbps && flow.second_mbps) {
      mbps.push_back((*flow.first_mbps + *flow.second_mbps) / 2);
    }
  }
  const math::Distribution rates = math::distribution(mbps);
  fmt::print(context.out, "{} flow labels from {} to {} at {}, one after the other, twice\n",
             shown.sweep.flows.size(), trial.client.device, cli::printable(trial.server.device),
             shown.peer);
  if (rates.count > 0) {
    fmt::print(context.out, "rate of a flow alone: {} to {}, median {}\n", rate_text(rates.min),
               rate_text(rates.max), rate_text(rates.median));
  }
  context.out << '\n';
  for (const SlowFlows& slow : shown.judgement.findings) {
    print_slow(context, shown, slow);
  }
  if (shown.judgement.verdict == FlowVerdict::Alike) {
    fmt::print(context.out, "All {} flows are alike.\n", shown.sweep.flows.size());
  } else if (shown.judgement.verdict == FlowVerdict::Unknown) {
    fmt::print(context.out, "Unknown: {}; give more --time.\n", shown.judgement.why);
  }
  print_failures(context, shown);
  if (shown.sweep.interrupted) {
    context.out << "Interrupted: these are the results until then.\n";
  }
}

Result<cli::ExitCode> run_flows(const FlowsAsked& asked, const control::PeerFlags& peer,
                                const baseline::Flags& baseline, const session::OpenLibrary& open,
                                const cli::Context& context) {
  TRY(const sys::Signals signals, sys::Signals::watch_for_end());
  TRY(const control::ClientOptions options, client_options(peer, context));
  Json document = cli::document(context, "chokepoint.rdma.flows/1");
  FlowRunner runner(asked, options, open, signals.descriptor(), context);
  cli::Progress progress(context, "tests of flows", 2 * static_cast<std::uint64_t>(asked.flows));
  FlowsShown shown{.peer = peer.host};
  TRY(shown.sweep,
      session::sweep_flows(
          asked.test, asked.flows,
          [&](const session::Parameters& parameters) { return runner.test(parameters); },
          [&](std::uint64_t tests) { progress.update(tests); }));
  shown.judgement = session::judge(shown.sweep.flows);
  baseline::ask_peer(options, baseline, context, signals.descriptor(), document);
  document["peer"] = json::to_json(control::peer_of(peer, runner.client()));
  add_to(document, shown);
  const bool is_read = asked.test.operation == verbs::Operation::Read;
  return baseline::answer(context, baseline,
                          {.kind = "rdma-flows",
                           .peer = runner.client().admittance().server.host,
                           .direction = is_read ? "receive" : "send",
                           .document = std::move(document)},
                          shown.sweep.interrupted, [&] { print_page(context, shown); });
}

}  // namespace chokepoint::rdma
