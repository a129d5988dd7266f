#include "probe/udp/verdict.h"

#include <fmt/format.h>

#include <array>

#include "base/math/units.h"

namespace chokepoint::probe::udp {
namespace {

constexpr double kMega = 1e6;
constexpr double kPercent = 100;
constexpr double kOfferedAsAsked = 0.985;

std::string rate(double mbps) { return math::format_rate(mbps * kMega); }

double share(std::uint64_t part, const Outcome& outcome) {
  return outcome.packets_sent == 0
             ? 0
             : static_cast<double>(part) / static_cast<double>(outcome.packets_sent);
}

Verdict lossy(const Outcome& outcome, const Circumstances& how) {
  const double percent = outcome.loss() * kPercent;
  if (outcome.lost_in_queue > outcome.lost / 2) {
    return {Limit::ReceiverQueue,
            fmt::format("{}'s socket queue dropped {:.2f} % of {}: that host is too slow to take "
                        "it; {} arrived",
                        how.receiver, share(outcome.lost_in_queue, outcome) * kPercent,
                        rate(outcome.offered_mbps), rate(outcome.throughput_mbps))};
  }
  if (outcome.dropped_by_sender > outcome.lost / 2) {
    return {Limit::SenderQueue,
            fmt::format("the queue of {}'s own interface dropped {:.2f} % of {}: its line is full "
                        "at {}",
                        how.sender, share(outcome.dropped_by_sender, outcome) * kPercent,
                        rate(outcome.offered_mbps), rate(outcome.throughput_mbps))};
  }
  return {Limit::Path, fmt::format("the network lost {:.2f} % of {}; {} arrived", percent,
                                   rate(outcome.offered_mbps), rate(outcome.throughput_mbps))};
}

Verdict interface_full(const Outcome& outcome, const Circumstances& how) {
  return {Limit::SenderQueue,
          fmt::format("{}'s own interface takes no more: its line is full, {} arrived", how.sender,
                      rate(outcome.throughput_mbps))};
}

Verdict short_of(const Outcome& outcome, const Circumstances& how) {
  if (outcome.interface_full()) {
    return interface_full(outcome, how);
  }
  const std::string stalled =
      outcome.skipped > 0
          ? fmt::format(", and was kept from sending {} packets in time", outcome.skipped)
          : "";
  return {
      Limit::Sender,
      fmt::format("{} sent {} where {} was asked for{}: its processors give no more", how.sender,
                  rate(outcome.offered_mbps), math::format_rate(how.asked_bits_per_s), stalled)};
}

std::string beyond(const Trial& obstacle) { return math::format_rate(obstacle.bits_per_s); }

Verdict found(const Outcome& outcome, const Circumstances& how) {
  const std::string carried = rate(outcome.throughput_mbps);
  if (!how.obstacle) {
    return {Limit::Asked, fmt::format("{} arrived whole, as fast as the server grants", carried)};
  }
  const Trial& trial = *how.obstacle;
  switch (judge(trial, how.most_loss)) {
    case TrialEnd::ReceiverQueue:
      return {Limit::ReceiverQueue,
              fmt::format("{} arrived whole; at {} {}'s socket queue dropped {:.2f} %: that host "
                          "is too slow to take more",
                          carried, beyond(trial), how.receiver, trial.loss_in_queue * kPercent)};
    case TrialEnd::Sender:
    case TrialEnd::Stalled:
      if (trial.interface_full) {
        return interface_full(outcome, how);
      }
      return {Limit::Sender,
              fmt::format("{} arrived whole; of {} {} got only {} out: its processors give no "
                          "more",
                          carried, beyond(trial), how.sender,
                          math::format_rate(trial.offered_bits_per_s))};
    case TrialEnd::FillsQueue:
      return {
          Limit::Path,
          fmt::format("{} arrived whole; of {} only {} came through in time, and a queue filled "
                      "up: the line is full",
                      carried, beyond(trial), math::format_rate(trial.delivered_bits_per_s))};
    case TrialEnd::Loss:
    case TrialEnd::Passed:
      break;
  }
  return {Limit::Path, fmt::format("{} arrived whole; loss starts at {}, where the network lost "
                                   "{:.2f} %: the line is full",
                                   carried, beyond(trial), trial.loss * kPercent)};
}

}  // namespace

std::string_view name_of(Limit limit) {
  constexpr std::array<std::string_view, 6> kNames{"nothing",      "asked",          "sender",
                                                   "sender-queue", "receiver-queue", "path"};
  return kNames.at(static_cast<std::size_t>(limit));
}

Verdict judge(const Outcome& outcome, const Circumstances& how) {
  if (!outcome.error.empty()) {
    return {Limit::Nothing, fmt::format("{} could not send: {}", how.sender, outcome.error)};
  }
  if (outcome.packets_received == 0) {
    return {Limit::Nothing, outcome.packets_sent == 0
                                ? "nothing was sent, so nothing can be said"
                                : "nothing arrived: does a firewall let large UDP packets pass?"};
  }
  if (outcome.loss() > how.most_loss) {
    return lossy(outcome, how);
  }
  if (outcome.offered_mbps * kMega < kOfferedAsAsked * how.asked_bits_per_s) {
    return short_of(outcome, how);
  }
  if (how.searched) {
    return found(outcome, how);
  }
  const std::string all = fmt::format("{} arrived, {:.4f} % of it lost",
                                      rate(outcome.throughput_mbps), outcome.loss() * kPercent);
  return how.asked_bits_per_s > 0
             ? Verdict{Limit::Asked, all + ": what was asked for, and the path may carry more"}
             : Verdict{Limit::Sender, all + fmt::format(": {} sends no faster", how.sender)};
}

}  // namespace chokepoint::probe::udp
