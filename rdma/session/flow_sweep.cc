#include "rdma/session/flow_sweep.h"

#include <chrono>
#include <numeric>
#include <utility>

#include "base/math/groups.h"

namespace chokepoint::rdma::session {
namespace {

// If so many flows fail before any went well, no link carries RDMA.
constexpr int kHopeless = 3;

// Packets that are lost on the way end a test by a timeout: of the device's retries, or of the
// test.
bool is_of_one_flow(const Error& error) { return error.kind == ErrorKind::Timeout; }

std::optional<double> rate_of(const Trial& trial) {
  return trial.rounds.empty() ? std::nullopt : trial.rounds.back().client.average_mbps;
}

std::vector<std::optional<math::Halves>> rates_of(const std::vector<FlowRate>& flows) {
  std::vector<std::optional<math::Halves>> rates;
  for (const FlowRate& flow : flows) {
    rates.push_back(
        flow.first_mbps && flow.second_mbps
            ? std::optional(math::Halves{.first = *flow.first_mbps, .second = *flow.second_mbps})
            : std::nullopt);
  }
  return rates;
}

documents::RdmaFlows described(const Trial& trial) {
  const Parameters& asked = trial.parameters;
  documents::RdmaFlows document{.operation = asked.operation,
                                .device = trial.client.device,
                                .peer_device = trial.server.device,
                                .gid = text_of(trial.client.gid),
                                .peer_gid = text_of(trial.server.gid),
                                .mtu_bytes = trial.agreement.mtu_bytes,
                                .message_bytes = asked.sizes.front()};
  if (asked.time) {
    document.test_s = std::chrono::duration<double>(*asked.time).count();
  }
  return document;
}

documents::RdmaFlow described(const FlowRate& flow, const std::optional<math::Halves>& rate) {
  documents::RdmaFlow described{.flow_label = flow.label,
                                .source_port = source_port_of(flow.label),
                                .first_mbps = flow.first_mbps,
                                .second_mbps = flow.second_mbps,
                                .failure = flow.failure};
  if (rate) {
    described.rate_mbps = rate->mean();
  }
  return described;
}

// The first group is the fastest. `known`: flows whose rate is known.
std::vector<documents::RdmaFlowsFinding> findings_of(const std::vector<math::Group>& groups,
                                                     const std::vector<FlowRate>& flows,
                                                     std::size_t known) {
  std::vector<documents::RdmaFlowsFinding> findings;
  for (std::size_t group = 1; group < groups.size(); ++group) {
    const std::vector<std::size_t>& members = groups[group].members;
    const math::Share share = math::share_of(static_cast<double>(members.size()), known);
    documents::RdmaFlowsFinding finding{.p_value = groups[group].p,
                                        .flows = members.size(),
                                        .share_percent = documents::in_percent(share),
                                        .one_of_members = math::one_of(share),
                                        .rate_mbps = groups[group].mean,
                                        .others_rate_mbps = groups.front().mean};
    for (const std::size_t member : members) {
      finding.flow_labels.push_back(flows[member].label);
      finding.source_ports.push_back(source_port_of(flows[member].label));
    }
    findings.push_back(std::move(finding));
  }
  return findings;
}

class FlowTests {
 public:
  FlowTests(Parameters parameters, int flows, const RunTest& run,
            const std::function<void(std::uint64_t tests)>& progress)
      : parameters_(std::move(parameters)), run_(run), progress_(progress) {
    for (int flow = 0; flow < flows; ++flow) {
      sweep_.flows.push_back({.label = static_cast<std::uint32_t>(flow) + 1});
    }
  }

  Result<FlowSweep> run() {
    std::vector<std::size_t> all(sweep_.flows.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    TRY(both_passes(all));
    TRY(both_passes(math::unsteady_rates(rates_of(sweep_.flows))));
    if (well_ == 0) {
      return fail(first_failure_.value_or(Error{.kind = ErrorKind::Interrupted,
                                                .operation = "",
                                                .subject = "RDMA flows",
                                                .reason = "nothing was measured yet"}));
    }
    return std::move(sweep_);
  }

 private:
  Result<> both_passes(const std::vector<std::size_t>& flows) {
    for (const std::size_t flow : flows) {
      TRY(test(sweep_.flows[flow], sweep_.flows[flow].first_mbps));
    }
    for (auto flow = flows.rbegin(); flow != flows.rend(); ++flow) {
      TRY(test(sweep_.flows[*flow], sweep_.flows[*flow].second_mbps));
    }
    return {};
  }

  Result<> test(FlowRate& flow, std::optional<double>& mbps) {
    if (sweep_.interrupted) {
      return {};
    }
    parameters_.flow_label = flow.label;
    Result<Trial> trial = run_(parameters_);
    if (!trial) {
      return failed(flow, mbps, trial.error());
    }
    sweep_.interrupted = trial->interrupted;
    // Of a test that was cut short the rate may be that of its first moments.
    mbps = trial->interrupted ? mbps : rate_of(*trial);
    well_ += trial->rounds.empty() ? 0 : 1;
    sweep_.trial = std::move(*trial);
    progress_(++done_);
    return {};
  }

  Result<> failed(FlowRate& flow, std::optional<double>& mbps, const Error& error) {
    if (error.kind == ErrorKind::Interrupted) {
      sweep_.interrupted = true;
      return {};
    }
    first_failure_ = first_failure_ ? first_failure_ : error;
    if (!is_of_one_flow(error) || (well_ == 0 && done_ + 1 >= kHopeless)) {
      return fail(*first_failure_);
    }
    mbps = 0;
    flow.failure = describe(error);
    progress_(++done_);
    return {};
  }

  Parameters parameters_;
  const RunTest& run_;
  const std::function<void(std::uint64_t tests)>& progress_;
  FlowSweep sweep_;
  std::optional<Error> first_failure_ = {};
  std::uint64_t done_ = 0;
  std::uint64_t well_ = 0;
};

}  // namespace

Result<FlowSweep> sweep_flows(Parameters parameters, int flows, const RunTest& run,
                              const std::function<void(std::uint64_t tests)>& progress) {
  return FlowTests(std::move(parameters), flows, run, progress).run();
}

documents::RdmaFlows judged(const FlowSweep& sweep) {
  documents::RdmaFlows document = described(sweep.trial);
  document.interrupted = sweep.interrupted;
  const std::vector<std::optional<math::Halves>> rates = rates_of(sweep.flows);
  std::size_t known = 0;
  for (std::size_t flow = 0; flow < rates.size(); ++flow) {
    document.flows.push_back(described(sweep.flows[flow], rates[flow]));
    known += rates[flow] ? 1 : 0;
  }
  document.findings = findings_of(math::rate_groups(rates), sweep.flows, known);
  if (!document.findings.empty()) {
    document.verdict = documents::FlowsVerdict::Found;
  } else if (math::are_alike(rates)) {
    document.verdict = documents::FlowsVerdict::Alike;
  } else {
    document.unknown_because = known == rates.size()
                                   ? "rates vary by more than a quarter, and in no groups"
                                   : "not every flow had its two tests";
  }
  return document;
}

std::uint16_t source_port_of(std::uint32_t flow_label) {
  constexpr std::uint32_t kFirstPort = 0xc000;
  constexpr std::uint32_t kLowBits = 14;
  constexpr std::uint32_t kLow = (1U << kLowBits) - 1;
  return static_cast<std::uint16_t>(
      kFirstPort | ((flow_label & kLow) ^ ((flow_label & kMaxFlowLabel) >> kLowBits)));
}

}  // namespace chokepoint::rdma::session
