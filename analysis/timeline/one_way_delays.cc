#include "analysis/timeline/one_way_delays.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <span>

namespace chokepoint::analysis {
namespace {

constexpr std::size_t kMostRepeats = 64;  // of a number, that are still looked at one by one
constexpr std::size_t kMostVotes = 1'000'000;
constexpr std::size_t kSure = 4;  // packets that meet at one offset
constexpr std::int64_t kAgrees = 10'000'000'000;
constexpr std::int64_t kSlack = 500'000'000;
constexpr double kMostDrift = 400e-6;

using Sightings = std::span<const Sighting>;

Sightings same_key(Sightings all, std::size_t from) {
  std::size_t to = from;
  while (to < all.size() && all[to].key == all[from].key) ++to;
  return all.subspan(from, to - from);
}

// Both lists are sorted. `visit` is given those that left and those that came under one key.
template <class Visit>
void each_key(const Passage& passage, Visit&& visit) {
  std::size_t sent = 0;
  std::size_t received = 0;
  while (sent < passage.sent.size() && received < passage.received.size()) {
    const Sightings left = same_key(passage.sent, sent);
    const Sightings came = same_key(passage.received, received);
    if (left.front().key == came.front().key) visit(left, came);
    if (left.front().key <= came.front().key) sent += left.size();
    if (came.front().key <= left.front().key) received += came.size();
  }
}

void sort_all(SharedPackets& shared) {
  for (Passage* passage : {&shared.there, &shared.back}) {
    std::ranges::sort(passage->sent);
    std::ranges::sort(passage->received);
  }
}

// By the first node's clock.
struct Bounds {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
};

std::optional<Bounds> bounds_of(const SharedPackets& shared) {
  std::optional<Bounds> bounds;
  for (const auto* sightings : {&shared.there.sent, &shared.back.received}) {
    for (const Sighting& sighting : *sightings) {
      if (!bounds) bounds = Bounds{sighting.t_ns, sighting.t_ns};
      bounds->begin_ns = std::min(bounds->begin_ns, sighting.t_ns);
      bounds->end_ns = std::max(bounds->end_ns, sighting.t_ns);
    }
  }
  return bounds;
}

// The offset that each packet of one way would have, were it the same at both ends; `sign` is that
// of the offset in what a packet seems to have taken.
void vote(const Passage& passage, int sign, std::vector<std::int64_t>& votes) {
  each_key(passage, [&](Sightings left, Sightings came) {
    if (left.size() > kMostRepeats || came.size() > kMostRepeats) return;
    if (votes.size() > kMostVotes) return;
    for (const Sighting& from : left) {
      for (const Sighting& to : came) votes.push_back(sign * (to.t_ns - from.t_ns));
    }
  });
}

struct Meeting {
  std::int64_t offset_ns = 0;
  std::size_t votes = 0;
};

// Of equally many votes those nearer to what is expected.
Meeting densest(std::vector<std::int64_t>& votes, std::int64_t width_ns,
                std::optional<std::int64_t> expected_ns) {
  std::ranges::sort(votes);
  Meeting best;
  std::size_t from = 0;
  for (std::size_t to = 0; to < votes.size(); ++to) {
    while (votes[to] - votes[from] > width_ns) ++from;
    const Meeting here{votes[from + (to - from) / 2], to - from + 1};
    const bool is_nearer =
        here.votes == best.votes && expected_ns &&
        std::abs(here.offset_ns - *expected_ns) < std::abs(best.offset_ns - *expected_ns);
    if (here.votes > best.votes || is_nearer) best = here;
  }
  return best;
}

bool is_believed(const Meeting& meeting, std::optional<std::int64_t> expected_ns) {
  if (meeting.votes >= kSure) return true;
  return meeting.votes > 0 && expected_ns && std::abs(meeting.offset_ns - *expected_ns) < kAgrees;
}

// Those that left at such a time that they would have come within `width_ns` of this one.
Sightings could_be(Sightings left, const Sighting& came, std::int64_t shift_ns,
                   std::int64_t width_ns) {
  const std::int64_t middle = came.t_ns - shift_ns;
  const auto from = std::ranges::lower_bound(left, middle - width_ns / 2, {}, &Sighting::t_ns);
  const auto to = std::ranges::upper_bound(left, middle + width_ns / 2, {}, &Sighting::t_ns);
  return {from, to};
}

std::vector<OneWayDelay> delays_of(const Passage& passage, int sign, const OneWayDelays& base,
                                   std::int64_t width_ns) {
  std::vector<OneWayDelay> result;
  const std::int64_t shift_ns = sign * base.offset_ns;
  each_key(passage, [&](Sightings left, Sightings came) {
    for (const Sighting& to : came) {
      const Sightings from = could_be(left, to, shift_ns, width_ns);
      if (from.size() != 1) continue;
      const std::int64_t t_ns = sign > 0 ? from.front().t_ns : to.t_ns;
      result.push_back({static_cast<double>(t_ns - base.begin_ns),
                        static_cast<double>(to.t_ns - from.front().t_ns - shift_ns)});
    }
  });
  return result;
}

}  // namespace

std::optional<OneWayDelays> one_way_delays(SharedPackets& shared,
                                           std::optional<std::int64_t> expected_ns) {
  const std::optional<Bounds> bounds = bounds_of(shared);
  if (!bounds) return {};
  OneWayDelays result{.begin_ns = bounds->begin_ns,
                      .length_ns = static_cast<double>(bounds->end_ns - bounds->begin_ns)};
  const std::int64_t width_ns = kSlack + std::llround(kMostDrift * result.length_ns);
  sort_all(shared);
  std::vector<std::int64_t> votes;
  vote(shared.there, 1, votes);
  vote(shared.back, -1, votes);
  const Meeting meeting = densest(votes, width_ns, expected_ns);
  if (!is_believed(meeting, expected_ns)) return {};
  result.offset_ns = meeting.offset_ns;
  result.there = delays_of(shared.there, 1, result, width_ns);
  result.back = delays_of(shared.back, -1, result, width_ns);
  return result;
}

}  // namespace chokepoint::analysis
