#include "analysis/commands/predict_assumptions.h"

#include <fmt/format.h>

#include "base/math/units.h"

namespace chokepoint::analysis {
namespace {

std::string of_network(const JobProfile& profile, const Target& target,
                       const Prediction& prediction) {
  if (target.curve) {
    return "all-reduce takes what --curve says; the other rows are of the links' rates";
  }
  const std::string rate = math::format_rate(prediction.rate_mbps * 1e6);
  if (prediction.transport == Transport::Rdma) {
    return fmt::format(
        "{} of payload: the share of an RDMA link that NCCL was measured to reach with few ranks; "
        "--curve takes a measurement of yours",
        rate);
  }
  if (prediction.limited_by == "window" && !target.path.window_bytes) {
    return "sockets let 3 MB be in flight, as Linux does untuned (--buffer)";
  }
  if (prediction.limited_by == "library") {
    return fmt::format(
        "{} of payload: what {} was measured to reach over one socket, however fast the link; "
        "--curve takes a measurement of yours",
        rate, profile.backend == "gloo" ? "Gloo" : "NCCL");
  }
  return "TCP in frames of 1500 bytes: 94 % of the link's rate is payload";
}

}  // namespace

std::vector<std::string> assumptions_of(const JobProfile& profile, const Target& target,
                                        const Prediction& prediction) {
  std::vector<std::string> lines;
  const bool is_of_run = profile.step_ms > 0 && profile.exchanges.empty() && !profile.pipeline;
  if (!is_of_run) {
    if (profile.overlap == 0) {
      lines.emplace_back("computing hides no communication; the lower bound lets it (--overlap)");
    }
    lines.push_back(of_network(profile, target, prediction));
    if (!target.path.rtt_ms && !target.curve) {
      lines.emplace_back("the round trip of a quiet local network (--rtt)");
    }
    if (profile.single_total_s) {
      lines.push_back(
          fmt::format("computing takes 1/{} of what it takes one processor alone", profile.ranks));
    }
  } else if (target.ranks && *target.ranks != profile.ranks) {
    lines.emplace_back("each rank computes as much in a step as it did in the run");
  }
  return lines;
}

}  // namespace chokepoint::analysis
