#include "probe/path/trace_analysis.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "base/math/path_difference.h"

namespace chokepoint::probe::path {
namespace {

using MaybeAddress = std::optional<net::Address>;

constexpr double kAllLost = 100.0;

// The smallest loss, in percent, of each hop and those behind it.
std::vector<double> least_from_here(const std::vector<Hop>& hops) {
  std::vector<double> least(hops.size(), kAllLost);
  double so_far = kAllLost;
  for (std::size_t i = hops.size(); i-- > 0;) {
    so_far = std::min(so_far, hops[i].loss_percent().value_or(kAllLost));
    least[i] = so_far;
  }
  return least;
}

Silence judge(double loss, double least_behind) {
  if (loss <= 0) {
    return Silence::None;
  }
  if (loss >= kAllLost) {
    return least_behind < kAllLost ? Silence::Silent : Silence::Unknown;
  }
  return least_behind < loss ? Silence::RateLimited : Silence::PathLoss;
}

// The addresses of both traces by position: 0 is this host, then the routers, then the peer.
struct Aligned {
  std::vector<MaybeAddress> there;
  std::vector<MaybeAddress> back;
};

Aligned align(const Trace& forward, const Trace& reverse) {
  Aligned aligned;
  aligned.there.emplace_back(forward.source.address);
  for (const Hop& hop : forward.hops) {
    aligned.there.push_back(hop.address());
  }
  aligned.there.back() = forward.target.address;
  aligned.back.emplace_back(reverse.source.address);
  for (const Hop& hop : reverse.hops) {
    aligned.back.push_back(hop.address());
  }
  aligned.back.back() = reverse.target.address;
  std::ranges::reverse(aligned.back);
  return aligned;
}

int common_prefix(const net::Address& a, const net::Address& b) {
  int bits = 0;
  const std::size_t length = a.family() == net::Family::Ipv4 ? 4 : 16;
  for (std::size_t i = 0; i < length; ++i) {
    const auto differing = static_cast<std::uint8_t>(a.bytes()[i] ^ b.bytes()[i]);
    bits += std::countl_zero(differing);
    if (differing != 0) {
      break;
    }
  }
  return bits;
}

enum class Link { PointToPoint, OneNetwork, Apart, Unseen };

// True for the two addresses of a network of two, and for the two hosts of a network of four.
bool point_to_point(const net::Address& a, const net::Address& b, int bits) {
  const int prefix = common_prefix(a, b);
  if (prefix == bits - 1) {
    return true;
  }
  const std::size_t last = static_cast<std::size_t>(bits) / 8 - 1;
  const int low = a.bytes()[last] & 3;
  return prefix == bits - 2 && (low == 1 || low == 2);
}

// The link behind position `near`.
Link link_after(const Aligned& aligned, std::size_t near) {
  const MaybeAddress& near_end = aligned.back[near];
  const MaybeAddress& far_end = aligned.there[near + 1];
  if (!near_end || !far_end) {
    return Link::Unseen;
  }
  constexpr int kNetworkV4 = 24;
  constexpr int kNetworkV6 = 64;
  const bool four = near_end->family() == net::Family::Ipv4;
  if (point_to_point(*near_end, *far_end, four ? 32 : 128)) {
    return Link::PointToPoint;
  }
  return common_prefix(*near_end, *far_end) >= (four ? kNetworkV4 : kNetworkV6) ? Link::OneNetwork
                                                                                : Link::Apart;
}

std::pair<Match, std::string> judge_links(Link before, Link after) {
  if (before == Link::Apart || after == Link::Apart) {
    return {Match::Differs, fmt::format("the link {} it has its two ends in different networks",
                                        before == Link::Apart ? "before" : "behind")};
  }
  if (before == Link::Unseen || after == Link::Unseen) {
    return {Match::Unknown, "a neighbour does not answer"};
  }
  if (before == Link::PointToPoint && after == Link::PointToPoint) {
    return {Match::Same, "both its links are point-to-point, with both ends seen"};
  }
  return {Match::Likely, "its links fit, but their networks have room for a second router"};
}

std::pair<Match, std::string> judge_router(const Aligned& aligned, std::size_t position,
                                           const Placements& placements) {
  const MaybeAddress& there = aligned.there[position];
  const MaybeAddress& back = aligned.back[position];
  if (!there || !back) {
    return {Match::Unknown, there  ? "does not answer on the reverse path"
                            : back ? "does not answer on the forward path"
                                   : "does not answer"};
  }
  if (there == back) {
    return {Match::Same, "answers with the same address in both directions"};
  }
  auto [match, why] = judge_links(link_after(aligned, position - 1), link_after(aligned, position));
  const auto placed = placements.find(*back);
  if (placed == placements.end() || match == Match::Differs) {
    return {match, why};
  }
  if (placed->second) {
    return {Match::Same,
            fmt::format("{} answers at hop {} of the forward path, too", back->text(), position)};
  }
  const std::string elsewhere =
      fmt::format("{} is not at hop {} of the forward path", back->text(), position);
  return match == Match::Same ? std::pair(Match::Unknown, "its links fit, but " + elsewhere)
                              : std::pair(Match::Differs, elsewhere);
}

// The round trips to one router from both ends add up to that of the whole path.
bool round_trips_add_up(const Trace& forward, const Trace& reverse, std::size_t position) {
  // Chosen: routers answer probes later than they forward packets, by a share of the round trip.
  constexpr double kToleratedMs = 1;
  constexpr double kToleratedShare = 0.25;
  const auto whole = forward.hops.back().median_rtt_ms();
  const auto near = forward.hops[position - 1].median_rtt_ms();
  const auto far = reverse.hops[reverse.hops.size() - 1 - position].median_rtt_ms();
  if (!whole || !near || !far || *whole < math::kMinPathDifferenceMs) {
    return true;
  }
  return std::abs(*near + *far - *whole) <= std::max(kToleratedMs, kToleratedShare * *whole);
}

std::vector<RouterMatch> match_routers(const Trace& forward, const Trace& reverse,
                                       const Placements& placements) {
  const Aligned aligned = align(forward, reverse);
  std::vector<RouterMatch> routers;
  for (std::size_t i = 1; i < forward.hops.size(); ++i) {
    auto [match, why] = judge_router(aligned, i, placements);
    if (match == Match::Likely && !round_trips_add_up(forward, reverse, i)) {
      match = Match::Unknown;
      why = "its links fit, but its round trips from both ends do not add up to the path's";
    }
    routers.push_back({.ttl = static_cast<int>(i),
                       .forward = aligned.there[i],
                       .reverse = aligned.back[i],
                       .match = match,
                       .why = std::move(why)});
  }
  return routers;
}

void conclude(Symmetry& found) {
  const auto count = [&](Match match) {
    return std::ranges::count(found.routers, match, &RouterMatch::match);
  };
  const auto all = static_cast<std::ptrdiff_t>(found.routers.size());
  const auto other = std::ranges::find(found.routers, Match::Differs, &RouterMatch::match);
  if (other != found.routers.end()) {
    found.symmetric = false;
    found.why =
        fmt::format("hop {} is another router on the reverse path: {}", other->ttl, other->why);
  } else if (count(Match::Same) == all) {
    found.symmetric = true;
    found.why = all == 0 ? "no router lies between" : "every router is the same in both directions";
  } else {
    found.why = fmt::format("{} of {} routers are proven the same, {} likely, {} do not answer",
                            count(Match::Same), all, count(Match::Likely), count(Match::Unknown));
  }
}

}  // namespace

std::string_view words_of(Silence silence) {
  constexpr std::array<std::string_view, 5> kWords{"", "forwards, does not answer",
                                                   "rate limited, not lost", "lost here or before",
                                                   "no answer"};
  return kWords.at(static_cast<std::size_t>(silence));
}

std::vector<Silence> judge_loss(const std::vector<Hop>& hops) {
  const std::vector<double> least = least_from_here(hops);
  std::vector<Silence> judged;
  for (std::size_t i = 0; i < hops.size(); ++i) {
    const std::optional<double> loss = hops[i].loss_percent();
    const double behind = i + 1 < hops.size() ? least[i + 1] : kAllLost;
    judged.push_back(loss ? judge(*loss, behind) : Silence::Unknown);
  }
  return judged;
}

std::optional<double> path_loss_percent(const Trace& trace) {
  if (trace.hops.empty() || trace.hops.back().answered == 0) {
    return std::nullopt;
  }
  return trace.hops.back().loss_percent();
}

std::optional<BlackHole> locate(const std::vector<Hop>& small, const std::vector<Hop>& large,
                                int packet_bytes) {
  int reaches = 0;
  for (const Hop& hop : large) {
    reaches = hop.answered > 0 ? std::max(reaches, hop.ttl) : reaches;
  }
  BlackHole found{.packet_bytes = packet_bytes};
  for (const Hop& hop : small) {
    if (hop.answered > 0 && hop.ttl <= reaches) {
      found.last_before = hop;
    } else if (hop.answered > 0) {
      found.first_behind = hop;
      return found;
    }
  }
  return std::nullopt;
}

Symmetry compare(const Trace& forward, const Trace& reverse, const Placements& placements) {
  Symmetry found;
  if (!forward.reached || !reverse.reached) {
    found.why =
        fmt::format("the trace {} did not reach its target", forward.reached ? "back" : "there");
    return found;
  }
  if (forward.hops.size() != reverse.hops.size()) {
    found.symmetric = false;
    found.why = fmt::format("{} hops there, {} back", forward.hops.size(), reverse.hops.size());
    return found;
  }
  found.routers = match_routers(forward, reverse, placements);
  conclude(found);
  return found;
}

}  // namespace chokepoint::probe::path
