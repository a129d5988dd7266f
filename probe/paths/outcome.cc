#include "probe/paths/outcome.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/math/groups.h"
#include "base/math/loss_split.h"
#include "base/math/units.h"
#include "probe/udp/packet.h"

namespace chokepoint::probe::paths {
namespace {

// In either half of a flow's packets, so that their median is its delay.
constexpr std::size_t kMinTrips = 8;
using Values = std::vector<std::int64_t>;

// The least delay of each round, over all flows. It varies by what all flows share: queues before
// the bundle, and the drift of the clocks. Unlike a median it does not jump between two groups of
// equal size.
Values least_of_rounds(const SweepRecord& record, std::int64_t RoundTrip::* value) {
  Values least(static_cast<std::size_t>(record.rounds), INT64_MAX);
  for (const FlowRecord& flow : record.flows) {
    for (const RoundTrip& trip : flow.trips) {
      if (trip.round < least.size()) {
        least[trip.round] = std::min(least[trip.round], trip.*value);
      }
    }
  }
  return least;
}

std::optional<math::Halves> delay_of(const FlowRecord& flow, const Values& least,
                                     std::int64_t RoundTrip::* value) {
  std::vector<double> first;
  std::vector<double> second;
  for (const RoundTrip& trip : flow.trips) {
    if (trip.round < least.size()) {
      const auto later = static_cast<double>(udp::difference(trip.*value, least[trip.round]));
      (trip.round % 2 == 0 ? first : second).push_back(later);
    }
  }
  if (first.size() < kMinTrips || second.size() < kMinTrips) {
    return std::nullopt;
  }
  return math::Halves{.first = *math::median(first), .second = *math::median(second)};
}

std::vector<std::optional<math::Halves>> delays_of(const SweepRecord& record,
                                                   std::int64_t RoundTrip::* value) {
  const Values least = least_of_rounds(record, value);
  std::vector<std::optional<math::Halves>> delays;
  for (const FlowRecord& flow : record.flows) {
    delays.push_back(delay_of(flow, least, value));
  }
  return delays;
}

// The clocks' difference cancels out. Wraps where a peer's times make no sense.
std::int64_t round_trip(const RoundTrip& trip) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(trip.there_ns) +
                                   static_cast<std::uint64_t>(trip.back_ns));
}

std::uint64_t less(std::uint64_t of, std::uint64_t what) { return of - std::min(of, what); }

math::FlowLoss loss_of(const FlowRecord& flow, Direction direction) {
  return direction == Direction::Send
             ? math::FlowLoss{.sent = flow.sent, .lost = less(flow.sent, flow.received_by_peer)}
             : math::FlowLoss{.sent = flow.answered,
                              .lost = less(flow.answered, flow.trips.size())};
}

class Judge {
 public:
  Judge(const SweepRecord& record, const std::vector<std::optional<Hops>>& hops,
        const Expectation& expectation)
      : record_(record), hops_(hops), expectation_(expectation) {}

  Outcome judge() {
    list_flows();
    outcome_.there.dropped = record_.peer_dropped;
    outcome_.back.dropped = record_.dropped;
    look_at_loss(Direction::Send, outcome_.there);
    look_at_loss(Direction::Receive, outcome_.back);
    look_at_delay(Direction::Send, outcome_.there);
    look_at_delay(Direction::Receive, outcome_.back);
    std::ranges::stable_sort(outcome_.findings, {}, &Finding::p);
    count_paths();
    decide();
    return std::move(outcome_);
  }

 private:
  void list_flows() {
    for (std::size_t i = 0; i < record_.flows.size(); ++i) {
      const FlowRecord& flow = record_.flows[i];
      std::vector<double> rtt_ms;
      for (const RoundTrip& trip : flow.trips) {
        rtt_ms.push_back(std::max(0.0, static_cast<double>(round_trip(trip)) / math::kNsPerMs));
      }
      outcome_.flows.push_back({.source_port = flow.source_port,
                                .sent = flow.sent,
                                .lost_there = loss_of(flow, Direction::Send).lost,
                                .answered = flow.answered,
                                .lost_back = loss_of(flow, Direction::Receive).lost,
                                .rtt_ms = math::distribution(rtt_ms),
                                .hops = i < hops_.size() ? hops_[i] : std::nullopt});
    }
  }

  void look_at_loss(Direction direction, DirectionSweep& way) {
    std::vector<math::FlowLoss> losses;
    std::size_t usable = 0;
    for (const FlowRecord& flow : record_.flows) {
      losses.push_back(loss_of(flow, direction));
      way.sent += losses.back().sent;
      way.lost += losses.back().lost;
      usable += losses.back().sent > 0 ? 1 : 0;
    }
    if (const std::optional<math::LossSplit> split = math::split_by_loss(losses)) {
      outcome_.findings.push_back({.kind = FindingKind::Loss,
                                   .direction = direction,
                                   .p = split->p,
                                   .share = split->share,
                                   .loss = split->loss,
                                   .others_loss = split->others_loss,
                                   .flows = split->lossy,
                                   .unclear = split->unclear});
      locate(outcome_.findings.back(), split->unclear);
    }
    if (usable > 0) {
      way.detectable_loss =
          math::detectable_loss(1.0 / expectation_.members, usable, way.sent / usable,
                                static_cast<double>(way.lost) / static_cast<double>(way.sent));
    }
  }

  void look_at_delay(Direction direction, DirectionSweep& way) {
    const bool there = direction == Direction::Send;
    const auto delays = delays_of(record_, there ? &RoundTrip::there_ns : &RoundTrip::back_ns);
    const std::vector<math::Group> groups = math::groups_of(delays, kMinDelayNs);
    way.delay_groups = groups.size();
    if (groups.empty()) {
      return;
    }
    const double least = groups.front().mean;
    std::size_t known = 0;
    for (const math::Group& group : groups) {
      known += group.members.size();
    }
    for (std::size_t i = 0; i < delays.size(); ++i) {
      if (delays[i]) {
        (there ? outcome_.flows[i].later_there_ms : outcome_.flows[i].later_back_ms) =
            (delays[i]->mean() - least) / math::kNsPerMs;
      }
    }
    for (std::size_t i = 1; i < groups.size(); ++i) {
      outcome_.findings.push_back(
          {.kind = FindingKind::Delay,
           .direction = direction,
           .p = groups[i].p,
           .share = math::share_of(static_cast<double>(groups[i].members.size()), known),
           .later_ns = groups[i].mean - least,
           .flows = groups[i].members});
      locate(outcome_.findings.back(), {});
    }
  }

  // By the routers on the way there: the way back passes others.
  void locate(Finding& finding, const std::vector<std::size_t>& unclear) const {
    if (hops_.empty() || finding.direction != Direction::Send) {
      return;
    }
    std::vector<std::size_t> others;
    for (std::size_t i = 0; i < record_.flows.size(); ++i) {
      if (!std::ranges::binary_search(finding.flows, i) &&
          std::ranges::find(unclear, i) == unclear.end()) {
        others.push_back(i);
      }
    }
    finding.place = common_hop(hops_, finding.flows, others);
  }

  void count_paths() {
    Paths& paths = outcome_.paths;
    paths.traced = static_cast<std::size_t>(
        std::ranges::count_if(hops_, [](const auto& hops) { return hops.has_value(); }));
    paths.by_hops = paths_by_hops(hops_);
    paths.at_least = std::max({std::size_t{1}, paths.by_hops.value_or(1),
                               outcome_.there.delay_groups, outcome_.back.delay_groups});
    if (!outcome_.findings.empty()) {
      paths.at_least = std::max(paths.at_least, std::size_t{2});
    }
  }

  void decide() {
    const auto suffices = [&](const DirectionSweep& way) {
      return way.detectable_loss && *way.detectable_loss <= expectation_.loss;
    };
    if (!outcome_.findings.empty()) {
      outcome_.verdict = Verdict::Found;
    } else if (suffices(outcome_.there) && suffices(outcome_.back)) {
      outcome_.verdict = Verdict::Alike;
    } else {
      outcome_.why = too_little();
    }
  }

  std::string too_little() const {
    const std::optional<double> there = outcome_.there.detectable_loss;
    const std::optional<double> back = outcome_.back.detectable_loss;
    const std::string member = fmt::format("one of {} members", expectation_.members);
    if (!there || !back) {
      return fmt::format("too little was sent to find {}, whatever it loses", member);
    }
    return fmt::format("so many packets find {} only where it loses {:.3g} % more than the others",
                       member, std::max(*there, *back) * math::kPercent);
  }

  const SweepRecord& record_;
  const std::vector<std::optional<Hops>>& hops_;
  const Expectation& expectation_;
  Outcome outcome_;
};

void find_slower(Outcome& outcome, const std::vector<std::optional<math::Halves>>& rates,
                 std::size_t known) {
  const std::vector<math::Group> groups = math::rate_groups(rates);
  outcome.paths.at_least = std::max<std::size_t>(1, groups.size());
  for (std::size_t i = 1; i < groups.size(); ++i) {
    outcome.findings.push_back(
        {.kind = FindingKind::Rate,
         .p = groups[i].p,
         .share = math::share_of(static_cast<double>(groups[i].members.size()), known),
         .bits_per_s = groups[i].mean,
         .others_bits_per_s = groups.front().mean,
         .flows = groups[i].members});
  }
  std::ranges::stable_sort(outcome.findings, {}, &Finding::p);
}

}  // namespace

Outcome judged(const std::vector<RateRecord>& flows) {
  Outcome outcome;
  std::vector<std::optional<math::Halves>> rates;
  std::size_t known = 0;
  for (const RateRecord& flow : flows) {
    rates.push_back(rates_of(flow));
    outcome.flows.push_back({.source_port = flow.source_port,
                             .retransmits = flow.retransmits,
                             .min_rtt_ms = flow.min_rtt_ms});
    if (const std::optional<math::Halves>& each = rates.back()) {
      outcome.flows.back().bits_per_s = each->mean();
      ++known;
    }
  }
  find_slower(outcome, rates, known);
  if (!outcome.findings.empty()) {
    outcome.verdict = Verdict::Found;
  } else if (math::are_alike(rates)) {
    outcome.verdict = Verdict::Alike;
  } else {
    outcome.why = known > 0 && known == flows.size()
                      ? "rates vary by more than a quarter, and in no groups"
                      : "not every flow had its two turns";
  }
  return outcome;
}

Outcome judged(const SweepRecord& record, const std::vector<std::optional<Hops>>& hops,
               const Expectation& expectation) {
  return Judge(record, hops, expectation).judge();
}

}  // namespace chokepoint::probe::paths
