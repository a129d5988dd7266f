#include "rdma/session/flow_sweep.h"

#include <algorithm>
#include <numeric>
#include <utility>

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

std::vector<std::optional<math::Halves>> rates_of(std::span<const FlowRate> flows) {
  std::vector<std::optional<math::Halves>> rates;
  for (const FlowRate& flow : flows) {
    rates.push_back(
        flow.first_mbps && flow.second_mbps
            ? std::optional(math::Halves{.first = *flow.first_mbps, .second = *flow.second_mbps})
            : std::nullopt);
  }
  return rates;
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

FlowJudgement judge(std::span<const FlowRate> flows) {
  const std::vector<std::optional<math::Halves>> rates = rates_of(flows);
  FlowJudgement judgement;
  const auto known = static_cast<std::size_t>(std::ranges::count_if(
      rates, [](const std::optional<math::Halves>& rate) { return rate.has_value(); }));
  const std::vector<math::Group> groups = math::rate_groups(rates);
  for (std::size_t group = 1; group < groups.size(); ++group) {
    judgement.findings.push_back(
        {.p = groups[group].p,
         .share = math::share_of(static_cast<double>(groups[group].members.size()), known),
         .mbps = groups[group].mean,
         .others_mbps = groups.front().mean,
         .flows = groups[group].members});
  }
  if (!judgement.findings.empty()) {
    judgement.verdict = FlowVerdict::Found;
  } else if (math::are_alike(rates)) {
    judgement.verdict = FlowVerdict::Alike;
  } else {
    judgement.why = known == flows.size() ? "rates vary by more than a quarter, and in no groups"
                                          : "not every flow had its two tests";
  }
  return judgement;
}

std::uint16_t source_port_of(std::uint32_t flow_label) {
  constexpr std::uint32_t kFirstPort = 0xc000;
  constexpr std::uint32_t kLowBits = 14;
  constexpr std::uint32_t kLow = (1U << kLowBits) - 1;
  return static_cast<std::uint16_t>(
      kFirstPort | ((flow_label & kLow) ^ ((flow_label & kMaxFlowLabel) >> kLowBits)));
}

}  // namespace chokepoint::rdma::session
