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
using documents::FlowFault;
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

std::vector<std::uint16_t> ports_of(const documents::ProbePaths& outcome,
                                    const std::vector<std::size_t>& flows) {
  std::vector<std::uint16_t> ports;
  for (const std::size_t flow : flows) {
    ports.push_back(outcome.flows[flow].source_port);
  }
  return ports;
}

documents::PathsFinding group_of(const documents::ProbePaths& outcome, FlowFault kind, double p,
                                 const math::Share& share, const std::vector<std::size_t>& flows) {
  return {.kind = kind,
          .p_value = p,
          .flows = flows.size(),
          .share_percent = documents::in_percent(share),
          .one_of_members = math::one_of(share),
          .source_ports = ports_of(outcome, flows)};
}

math::Share share_of(const std::vector<std::size_t>& flows, std::size_t of) {
  return math::share_of(static_cast<double>(flows.size()), of);
}

class Judge {
 public:
  Judge(const SweepRecord& record, const std::vector<std::optional<Hops>>& hops,
        const documents::PathsExpected& expected)
      : record_(record), hops_(hops), expected_(expected) {}

  documents::ProbePaths judge() {
    list_flows();
    outcome_.expected = expected_;
    outcome_.send = loss_on(Direction::Send);
    outcome_.receive = loss_on(Direction::Receive);
    look_at_delay(Direction::Send);
    look_at_delay(Direction::Receive);
    std::ranges::stable_sort(outcome_.findings, {}, &documents::PathsFinding::p_value);
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
                                .rtt_ms = documents::if_measured(math::distribution(rtt_ms)),
                                .hops = i < hops_.size() ? hops_[i] : std::nullopt});
    }
  }

  documents::PathsDirection loss_on(Direction direction) {
    documents::PathsDirection counts{.dropped_by_sockets = direction == Direction::Send
                                                               ? record_.peer_dropped
                                                               : record_.dropped};
    std::vector<math::FlowLoss> losses;
    std::size_t usable = 0;
    for (const FlowRecord& flow : record_.flows) {
      losses.push_back(loss_of(flow, direction));
      counts.sent += losses.back().sent;
      counts.lost += losses.back().lost;
      usable += losses.back().sent > 0 ? 1 : 0;
    }
    if (const std::optional<math::LossSplit> split = math::split_by_loss(losses)) {
      auto group = group_of(outcome_, FlowFault::Loss, split->p, split->share, split->lossy);
      group.loss_percent = split->loss * math::kPercent;
      group.others_loss_percent = split->others_loss * math::kPercent;
      group.unclear_source_ports = ports_of(outcome_, split->unclear);
      add(std::move(group), direction, split->lossy, split->unclear);
    }
    if (usable > 0) {
      const double loss = static_cast<double>(counts.lost) / static_cast<double>(counts.sent);
      counts.loss_percent = loss * math::kPercent;
      if (const auto detectable =
              math::detectable_loss(1.0 / expected_.members, usable, counts.sent / usable, loss)) {
        counts.detectable_loss_percent = *detectable * math::kPercent;
      }
    }
    return counts;
  }

  void look_at_delay(Direction direction) {
    const bool there = direction == Direction::Send;
    const auto delays = delays_of(record_, there ? &RoundTrip::there_ns : &RoundTrip::back_ns);
    const std::vector<math::Group> groups = math::groups_of(delays, kMinDelayNs);
    delay_groups_ = std::max(delay_groups_, groups.size());
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
      const std::vector<std::size_t>& members = groups[i].members;
      auto group =
          group_of(outcome_, FlowFault::Delay, groups[i].p, share_of(members, known), members);
      group.later_ms = (groups[i].mean - least) / math::kNsPerMs;
      add(std::move(group), direction, members, {});
    }
  }

  void add(documents::PathsFinding group, Direction direction,
           const std::vector<std::size_t>& flows, const std::vector<std::size_t>& unclear) {
    group.direction = direction;
    // By the routers on the way there: the way back passes others.
    if (!hops_.empty() && direction == Direction::Send) {
      group.hop = common_hop(hops_, flows, neither(flows, unclear));
    }
    outcome_.findings.push_back(std::move(group));
  }

  std::vector<std::size_t> neither(const std::vector<std::size_t>& flows,
                                   const std::vector<std::size_t>& unclear) const {
    std::vector<std::size_t> others;
    for (std::size_t i = 0; i < record_.flows.size(); ++i) {
      if (!std::ranges::binary_search(flows, i) && std::ranges::find(unclear, i) == unclear.end()) {
        others.push_back(i);
      }
    }
    return others;
  }

  void count_paths() {
    documents::PathsSeen& paths = outcome_.paths;
    paths.traced_flows = static_cast<std::size_t>(
        std::ranges::count_if(hops_, [](const auto& hops) { return hops.has_value(); }));
    paths.by_hops = paths_by_hops(hops_);
    paths.at_least = std::max({std::size_t{1}, paths.by_hops.value_or(1), delay_groups_,
                               std::size_t{outcome_.findings.empty() ? 1U : 2U}});
  }

  void decide() {
    const auto suffices = [&](const documents::PathsDirection& counts) {
      return counts.detectable_loss_percent &&
             *counts.detectable_loss_percent <= expected_.loss_percent;
    };
    if (!outcome_.findings.empty()) {
      outcome_.verdict = Verdict::Found;
    } else if (suffices(*outcome_.send) && suffices(*outcome_.receive)) {
      outcome_.verdict = Verdict::Alike;
    } else {
      outcome_.unknown_because = too_little();
    }
  }

  std::string too_little() const {
    const std::optional<double> there = outcome_.send->detectable_loss_percent;
    const std::optional<double> back = outcome_.receive->detectable_loss_percent;
    const std::string member = fmt::format("one of {} members", expected_.members);
    if (!there || !back) {
      return fmt::format("too little was sent to find {}, whatever it loses", member);
    }
    return fmt::format("so many packets find {} only where it loses {:.3g} % more than the others",
                       member, std::max(*there, *back));
  }

  const SweepRecord& record_;
  const std::vector<std::optional<Hops>>& hops_;
  const documents::PathsExpected& expected_;
  std::size_t delay_groups_ = 0;  // of flows; more than one: so many paths at least
  documents::ProbePaths outcome_;
};

void find_slower(documents::ProbePaths& outcome,
                 const std::vector<std::optional<math::Halves>>& rates, std::size_t known) {
  const std::vector<math::Group> groups = math::rate_groups(rates);
  outcome.paths.at_least = std::max<std::size_t>(1, groups.size());
  for (std::size_t i = 1; i < groups.size(); ++i) {
    const std::vector<std::size_t>& members = groups[i].members;
    auto group = group_of(outcome, FlowFault::Rate, groups[i].p, share_of(members, known), members);
    group.rate_mbps = groups[i].mean / math::kMega;
    group.others_rate_mbps = groups.front().mean / math::kMega;
    outcome.findings.push_back(std::move(group));
  }
  std::ranges::stable_sort(outcome.findings, {}, &documents::PathsFinding::p_value);
}

}  // namespace

documents::ProbePaths judged(const std::vector<RateRecord>& flows) {
  documents::ProbePaths outcome{.protocol = documents::ProbeProtocol::Tcp};
  std::vector<std::optional<math::Halves>> rates;
  std::size_t known = 0;
  for (const RateRecord& flow : flows) {
    rates.push_back(rates_of(flow));
    outcome.flows.push_back({.source_port = flow.source_port,
                             .retransmits = flow.retransmits,
                             .min_rtt_ms = flow.min_rtt_ms});
    if (const std::optional<math::Halves>& each = rates.back()) {
      outcome.flows.back().rate_mbps = each->mean() / math::kMega;
      ++known;
    }
  }
  find_slower(outcome, rates, known);
  if (!outcome.findings.empty()) {
    outcome.verdict = Verdict::Found;
  } else if (math::are_alike(rates)) {
    outcome.verdict = Verdict::Alike;
  } else {
    outcome.unknown_because = known > 0 && known == flows.size()
                                  ? "rates vary by more than a quarter, and in no groups"
                                  : "not every flow had its two turns";
  }
  return outcome;
}

documents::ProbePaths judged(const SweepRecord& record,
                             const std::vector<std::optional<Hops>>& hops,
                             const documents::PathsExpected& expected) {
  return Judge(record, hops, expected).judge();
}

}  // namespace chokepoint::probe::paths
