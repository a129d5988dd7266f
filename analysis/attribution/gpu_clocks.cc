#include "analysis/attribution/gpu_clocks.h"

#include "analysis/attribution/hosts.h"
#include "base/math/statistics.h"
#include "base/record/names.h"

namespace chokepoint::analysis {
namespace {

// Thresholds of "A GPU below its clocks" in docs/internals/attribution.md.
constexpr double kMinSlowedPercentOfLateRank = 20;  // of the time that the GPU worked
// Likewise, to be the cause of a step full of computing.
constexpr double kMinSlowedPercentOfJob = 50;
constexpr double kMinBelowOthersClock = 0.05;  // share by which its clock is below the other ranks'
// Share below its own maximum, where the others' clocks are unknown.
constexpr double kMinBelowMaxClock = 0.1;
constexpr double kMinShareOfLateness = 0.5;  // of the rank's lateness, that the clock must explain

// A record may hold any number; one that no driver reports counts as no bits.
std::uint64_t bits_of(double value) {
  constexpr double kMaxBits = 0x1p53;  // doubles hold whole numbers exactly up to here
  return value >= 0 && value < kMaxBits ? static_cast<std::uint64_t>(value) : 0;
}

// What it lost to being slowed down: of a model whose clocks are lower, no more than that it is
// below its own best.
double slower_by(const GpuClocks& own, std::optional<double> others_mhz) {
  if (!others_mhz || *others_mhz <= 0) {
    return own.below_max();
  }
  const double than_others = 1 - *own.clock_mhz / *others_mhz;
  return own.max_mhz ? std::min(than_others, own.below_max()) : than_others;
}

// The clocks of a GPU while it worked; nullopt if it never did.
std::optional<GpuClocks> clocks_of(const NodeData& node, const std::string& gpu, Span span) {
  const SeriesData* throttle = node.find(record::kGpuThrottle, gpu);
  if (throttle == nullptr) {
    return std::nullopt;
  }
  const SeriesData* clock = node.find(record::kGpuClock, gpu);
  const auto reasons = host::throttle_reasons();
  double worked_ns = 0;
  double slowed_ns = 0;
  double clocked_ns = 0;
  double cycles = 0;
  std::vector<double> reasons_ns(reasons.size(), 0);
  for (const Held& held : levels_over(*throttle, span)) {
    const auto bits = bits_of(held.value);
    if ((bits & host::kGpuIsIdle) != 0) {
      continue;
    }
    const auto ns = static_cast<double>(held.span.length_ns());
    worked_ns += ns;
    slowed_ns += host::slowing(bits) != 0 ? ns : 0;
    for (std::size_t i = 0; i < reasons.size(); ++i) {
      reasons_ns[i] += reasons[i].slows && (bits & reasons[i].bit) != 0 ? ns : 0;
    }
    if (const auto mhz = clock == nullptr ? std::nullopt : mean_level(*clock, held.span)) {
      clocked_ns += ns;
      cycles += *mhz * ns;
    }
  }
  if (worked_ns <= 0) {
    return std::nullopt;
  }
  GpuClocks clocks{.gpu = gpu,
                   .slowed_percent = 100 * slowed_ns / worked_ns,
                   .max_mhz = last_level(node, record::kGpuMaxClock, gpu)};
  // Of two that held equally long the later one is more specific.
  for (std::size_t i = 0; i < reasons.size(); ++i) {
    const double percent = 100 * reasons_ns[i] / worked_ns;
    if (percent > 0 && percent >= clocks.reason_percent) {
      clocks.reason = &reasons[i];
      clocks.reason_percent = percent;
    }
  }
  if (clocked_ns > 0) {
    clocks.clock_mhz = cycles / clocked_ns;
  }
  return clocks;
}

std::optional<double> clock_of_others(const DiagnosisInput& input, std::size_t place) {
  std::vector<double> mhz;
  for (std::size_t other = 0; other < input.run.nodes.size(); ++other) {
    if (other != place) {
      const auto clocks = slowest_gpu(input.run.nodes[other], input.span_of(other));
      if (clocks && clocks->clock_mhz) {
        mhz.push_back(*clocks->clock_mhz);
      }
    }
  }
  return math::median(mhz);
}

void add_evidence(const NodeData& node, const GpuClocks& clocks, std::optional<double> others_mhz,
                  Verdict& verdict) {
  const std::string of_gpu = " of " + clocks.gpu + " of " + node.name;
  verdict.evidence.push_back({"GPU clocks were reduced by " + std::string(clocks.reason->words) +
                                  " (" + std::string(clocks.reason->name) + ")",
                              clocks.reason_percent, "% of its busy time",
                              std::string(record::kGpuThrottle) + of_gpu});
  verdict.evidence.push_back({"its clock during that time", clocks.clock_mhz, "MHz",
                              std::string(record::kGpuClock) + of_gpu});
  if (others_mhz) {
    verdict.evidence.push_back({"the clock of the other ranks' GPUs", others_mhz, "MHz",
                                std::string(record::kGpuClock) + " of the other nodes"});
  } else {
    verdict.evidence.push_back({"the clock it can run at", clocks.max_mhz, "MHz",
                                std::string(record::kGpuMaxClock) + of_gpu});
  }
}

}  // namespace

std::optional<GpuClocks> slowest_gpu(const NodeData& node, Span span) {
  std::optional<GpuClocks> slowest;
  for (const std::string& gpu : job_gpus(node, span)) {
    std::optional<GpuClocks> clocks = clocks_of(node, gpu, span);
    if (clocks && clocks->clock_mhz && (!slowest || *clocks->clock_mhz < *slowest->clock_mhz)) {
      slowest = std::move(clocks);
    }
  }
  return slowest;
}

void explain_by_clocks(const DiagnosisInput& input, std::size_t place, Verdict& verdict) {
  const NodeData& node = input.run.nodes[place];
  const auto own = slowest_gpu(node, input.span_of(place));
  if (!own || own->reason == nullptr || own->slowed_percent < kMinSlowedPercentOfLateRank) {
    return;
  }
  const std::optional<double> others_mhz = clock_of_others(input, place);
  const double slower = slower_by(*own, others_mhz);
  const double late_ms = input.phases.late_ms[place];
  const double explained_ms = slower * (input.phases.computing_ms + late_ms);
  if (slower < (others_mhz ? kMinBelowOthersClock : kMinBelowMaxClock) ||
      explained_ms < kMinShareOfLateness * late_ms) {
    return;
  }
  verdict.cause = Cause::GpuThrottled;
  verdict.where.interface = own->gpu;
  add_evidence(node, *own, others_mhz, verdict);
}

void remark_clocks(const DiagnosisInput& input, Verdict& computing) {
  std::optional<GpuClocks> worst;
  const NodeData* of_node = nullptr;
  for (std::size_t place = 0; place < input.run.nodes.size(); ++place) {
    const auto clocks = slowest_gpu(input.run.nodes[place], input.span_of(place));
    if (clocks && clocks->reason != nullptr && clocks->slowed_percent >= kMinSlowedPercentOfJob &&
        clocks->below_max() > (worst ? worst->below_max() : kMinBelowMaxClock)) {
      worst = clocks;
      of_node = &input.run.nodes[place];
    }
  }
  if (worst) {
    computing.cause = Cause::GpuThrottled;
    computing.where = {.interface = worst->gpu, .node = of_node->name};
    add_evidence(*of_node, *worst, std::nullopt, computing);
  }
}

}  // namespace chokepoint::analysis
