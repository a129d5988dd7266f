#include "base/math/loss_split.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <random>

namespace chokepoint::math {
namespace {

using Random = std::mt19937_64;

constexpr std::uint64_t kSplitSeed = 0x636b7061746873;
// Sweeps of flows that are alike, for the chance of a finding: nine of them may reach it.
constexpr int kMaxDraws = 9999;
// If none of so many does, no more are drawn.
constexpr int kMinDraws = 2999;
// For the gain that a finding needs, where it is asked which members would be found.
constexpr int kNullDraws = 1999;
// The probability from which on a flow counts as one of a group; below, its group is unclear.
constexpr double kMinMembership = 0.95;

double log_likelihood(double lost, double sent) {
  if (lost <= 0 || lost >= sent) {
    return 0;
  }
  const double share = lost / sent;
  return lost * std::log(share) + (sent - lost) * std::log1p(-share);
}

double rate_of(const FlowLoss& flow) {
  return static_cast<double>(flow.lost) / static_cast<double>(flow.sent);
}

FlowLoss total_of(std::span<const FlowLoss> flows) {
  FlowLoss total;
  for (const FlowLoss& flow : flows) {
    total.sent += flow.sent;
    total.lost += flow.lost;
  }
  return total;
}

double log_likelihood(const FlowLoss& flow) {
  return log_likelihood(static_cast<double>(flow.lost), static_cast<double>(flow.sent));
}

struct Cut {
  double gain = 0;        // logarithm of the likelihood ratio
  std::size_t flows = 0;  // in the lossy group
  FlowLoss lossy = {};
};

// `flows` in the order of their loss, the highest first.
Cut best_cut(std::span<const FlowLoss> flows) {
  const FlowLoss total = total_of(flows);
  const double alike = log_likelihood(total);
  Cut best;
  FlowLoss top;
  for (std::size_t i = 0; i + 1 < flows.size(); ++i) {
    top.sent += flows[i].sent;
    top.lost += flows[i].lost;
    const FlowLoss rest{.sent = total.sent - top.sent, .lost = total.lost - top.lost};
    const double gain = log_likelihood(top) + log_likelihood(rest) - alike;
    if (gain > best.gain) {
      best = {.gain = gain, .flows = i + 1, .lossy = top};
    }
  }
  return best;
}

void order_by_loss(std::vector<FlowLoss>& flows) {
  std::ranges::sort(flows, std::greater<>(), rate_of);
}

// Draws lost packets of flows; keeps the distribution while the number of packets stays the same.
class LossDraw {
 public:
  explicit LossDraw(double loss) : loss_(loss) {}

  std::uint64_t of(std::uint64_t sent, Random& random) {
    if (sent != distribution_.t()) {
      distribution_ = std::binomial_distribution<std::uint64_t>(sent, loss_);
    }
    return distribution_(random);
  }

 private:
  double loss_;
  std::binomial_distribution<std::uint64_t> distribution_{0, 0.5};
};

// The chance that flows which are alike gain as much: an upper bound once it is clear on which side
// of kFalseAlarm it is.
double chance_of(double gain, std::span<const FlowLoss> flows, Random& random) {
  const FlowLoss total = total_of(flows);
  LossDraw draw(rate_of(total));
  std::vector<FlowLoss> drawn(flows.begin(), flows.end());
  int reached = 0;
  int draws = 0;
  while (draws < (reached == 0 ? kMinDraws : kMaxDraws) &&
         reached + 1 <= kFalseAlarm * (kMaxDraws + 1)) {
    for (FlowLoss& flow : drawn) {
      flow.lost = draw.of(flow.sent, random);
    }
    order_by_loss(drawn);
    reached += best_cut(drawn).gain >= gain ? 1 : 0;
    ++draws;
  }
  return static_cast<double>(reached + 1) / (draws + 1);
}

struct Mixture {
  double share = 0;  // of the flows in the lossy group
  double loss = 0;
  double others_loss = 0;

  double lossy(const FlowLoss& flow) const {
    const double lost = static_cast<double>(flow.lost);
    const double kept = static_cast<double>(flow.sent - flow.lost);
    const double odds = std::log(share / (1 - share)) + lost * std::log(loss / others_loss) +
                        kept * (std::log1p(-loss) - std::log1p(-others_loss));
    return 1 / (1 + std::exp(-odds));
  }
};

// By expectation and maximisation, from the best cut on.
Mixture fitted(std::span<const FlowLoss> flows, const Cut& cut) {
  constexpr int kSteps = 50;
  const FlowLoss total = total_of(flows);
  // A group that has lost nothing may still lose one packet in as many as twice were sent.
  const double least = 1 / (2.0 * static_cast<double>(total.sent));
  const auto bounded = [&](double share) { return std::clamp(share, least, 1 - least); };
  const double count = static_cast<double>(flows.size());
  Mixture mixture{.share = static_cast<double>(cut.flows) / count,
                  .loss = bounded(rate_of(cut.lossy)),
                  .others_loss = bounded(rate_of(
                      {.sent = total.sent - cut.lossy.sent, .lost = total.lost - cut.lossy.lost}))};
  for (int step = 0; step < kSteps; ++step) {
    double members = 0;
    double sent = 0;
    double lost = 0;
    for (const FlowLoss& flow : flows) {
      const double weight = mixture.lossy(flow);
      members += weight;
      sent += weight * static_cast<double>(flow.sent);
      lost += weight * static_cast<double>(flow.lost);
    }
    const double others = static_cast<double>(total.sent) - sent;
    if (members < 0.5 || members > count - 0.5 || sent <= 0 || others <= 0) {
      break;
    }
    mixture = {.share = members / count,
               .loss = bounded(lost / sent),
               .others_loss = bounded((static_cast<double>(total.lost) - lost) / others)};
  }
  return mixture;
}

void assign(LossSplit& split, std::span<const FlowLoss> flows, const Mixture& mixture) {
  FlowLoss lossy;
  FlowLoss well;
  for (std::size_t i = 0; i < flows.size(); ++i) {
    if (flows[i].sent == 0) {
      continue;
    }
    const double chance = mixture.lossy(flows[i]);
    if (chance > kMinMembership) {
      split.lossy.push_back(i);
    } else if (chance >= 1 - kMinMembership) {
      split.unclear.push_back(i);
      continue;
    }
    FlowLoss& group = chance > kMinMembership ? lossy : well;
    group.sent += flows[i].sent;
    group.lost += flows[i].lost;
  }
  split.loss = lossy.sent > 0 ? rate_of(lossy) : mixture.loss;
  split.others_loss = well.sent > 0 ? rate_of(well) : mixture.others_loss;
}

// The gain that one in a thousand draws of flows which are alike reaches, for so many lost packets.
// Kept for shares of lost packets a fifth apart, and rounded up to the next of them.
class CriticalGain {
 public:
  CriticalGain(std::size_t flows, std::uint64_t packets) : flows_(flows), packets_(packets) {}

  double of(std::uint64_t lost) {
    const double all = static_cast<double>(flows_) * static_cast<double>(packets_);
    const int step = static_cast<int>(
        std::ceil(std::log(static_cast<double>(std::max<std::uint64_t>(lost, 1)) / all) / kStep));
    const auto [at, is_new] = gains_.try_emplace(step);
    if (is_new) {
      at->second = critical_gain(std::min(1.0, std::exp(step * kStep)));
    }
    return at->second;
  }

 private:
  static constexpr double kStep = 0.2;

  double critical_gain(double loss) {
    std::vector<double> gains;
    std::vector<FlowLoss> drawn(flows_, FlowLoss{.sent = packets_});
    LossDraw draw(loss);
    for (int i = 0; i < kNullDraws; ++i) {
      for (FlowLoss& flow : drawn) {
        flow.lost = draw.of(packets_, random_);
      }
      order_by_loss(drawn);
      gains.push_back(best_cut(drawn).gain);
    }
    const auto at = static_cast<std::ptrdiff_t>(kFalseAlarm * (kNullDraws + 1)) - 1;
    std::ranges::nth_element(gains, gains.begin() + at, std::greater<>());
    return gains[static_cast<std::size_t>(at)];
  }

  std::size_t flows_;
  std::uint64_t packets_;
  Random random_{kSplitSeed};
  std::map<int, double> gains_;
};

bool would_find_with(CriticalGain& critical, const Sought& sought, std::size_t flows,
                     std::uint64_t packets, double background) {
  constexpr int kPlays = 1000;
  constexpr int kMaxMissed = 5;         // of 1000, so that the documented 1 of 100 is kept
  constexpr double kMaxUnseen = 0.005;  // no flow takes the member at all
  if (std::pow(1 - sought.share, static_cast<double>(flows)) > kMaxUnseen) {
    return false;
  }
  Random random(kSplitSeed);
  std::bernoulli_distribution takes(sought.share);
  LossDraw bad(std::min(1.0, background + sought.loss));
  LossDraw well(background);
  std::vector<FlowLoss> drawn(flows, FlowLoss{.sent = packets});
  int missed = 0;
  for (int play = 0; play < kPlays && missed <= kMaxMissed; ++play) {
    for (FlowLoss& flow : drawn) {
      flow.lost = (takes(random) ? bad : well).of(packets, random);
    }
    order_by_loss(drawn);
    missed += best_cut(drawn).gain > critical.of(total_of(drawn).lost) ? 0 : 1;
  }
  return missed <= kMaxMissed;
}

}  // namespace

std::optional<LossSplit> split_by_loss(std::span<const FlowLoss> flows) {
  std::vector<FlowLoss> ordered;
  std::ranges::copy_if(flows, std::back_inserter(ordered),
                       [](const FlowLoss& flow) { return flow.sent > 0; });
  if (ordered.size() < 2) {
    return std::nullopt;
  }
  order_by_loss(ordered);
  const Cut cut = best_cut(ordered);
  if (cut.gain <= 0) {
    return std::nullopt;
  }
  Random random(kSplitSeed);
  LossSplit split{.p = chance_of(cut.gain, ordered, random)};
  if (split.p > kFalseAlarm) {
    return std::nullopt;
  }
  const Mixture mixture = fitted(ordered, cut);
  split.share = share_of(mixture.share * static_cast<double>(ordered.size()), ordered.size());
  assign(split, flows, mixture);
  return split;
}

bool would_find(const Sought& sought, std::size_t flows, std::uint64_t packets, double background) {
  CriticalGain critical(flows, packets);
  return flows >= 2 && packets > 0 && would_find_with(critical, sought, flows, packets, background);
}

std::optional<double> detectable_loss(double share, std::size_t flows, std::uint64_t packets,
                                      double background) {
  constexpr double kSteps[] = {0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1};
  if (flows < 2 || packets == 0) {
    return std::nullopt;
  }
  CriticalGain critical(flows, packets);
  const auto found = std::ranges::partition_point(kSteps, [&](double loss) {
    return !would_find_with(critical, {.share = share, .loss = loss}, flows, packets, background);
  });
  return found == std::end(kSteps) ? std::nullopt : std::optional(*found);
}

}  // namespace chokepoint::math
