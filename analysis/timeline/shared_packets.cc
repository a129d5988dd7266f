#include "analysis/timeline/shared_packets.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <span>

namespace chokepoint::analysis {
namespace {

constexpr std::size_t kMaxSightings = 200'000;  // sightings, of all nodes together

constexpr std::uint64_t kCollectiveKeyBit = std::uint64_t{1} << 63U;

bool joins_two_nodes(const Connection& connection) {
  return connection.ends[0] && connection.ends[1] &&
         connection.ends[0]->node != connection.ends[1]->node;
}

std::size_t count_marks(const RunData& run) {
  std::size_t count = 0;
  for (const Connection& connection : run.connections) {
    if (!joins_two_nodes(connection)) continue;
    for (const auto& end : connection.ends) {
      for (const auto& marks : run.flow(*end).marks) count += marks.size();
    }
  }
  return count;
}

std::uint64_t mixed(std::int64_t number) {
  std::uint64_t bits = static_cast<std::uint64_t>(number) * 0xff51afd7ed558ccdU;
  bits ^= bits >> 33U;
  return bits * 0xc4ceb9fe1a85ec53U;
}

// Of all numbers the same share at each end, whatever strides they come in, and by
// whatever rule they were chosen to be marked.
class Sieve {
 public:
  explicit Sieve(std::size_t count) {
    while ((count >> bits_) > kMaxSightings) ++bits_;
  }
  bool keeps(std::int64_t number) const {
    return bits_ == 0 || mixed(number) >> (64U - bits_) == 0;
  }

 private:
  unsigned bits_ = 0;
};

void add_marks(const std::vector<record::FlowMark>& marks, std::uint64_t connection,
               const Sieve& sieve, std::vector<Sighting>& to) {
  for (const record::FlowMark& mark : marks) {
    if (!sieve.keeps(mark.sequence)) continue;
    to.push_back({connection << 32U | static_cast<std::uint32_t>(mark.sequence), mark.t_ns});
  }
}

// Where connections of a node lead to, by the id that they have in its record.
using Neighbours = std::map<std::int64_t, std::size_t>;

std::vector<Neighbours> neighbours_of(const RunData& run) {
  std::vector<Neighbours> result(run.nodes.size());
  for (const Connection& connection : run.connections) {
    if (!joins_two_nodes(connection)) continue;
    for (const std::size_t end : {0U, 1U}) {
      const FlowPlace& here = *connection.ends[end];
      result[here.node][run.flow(here).row.id] = connection.ends[1 - end]->node;
    }
  }
  return result;
}

std::uint64_t key_of(const record::Collective& row) {
  return kCollectiveKeyBit | static_cast<std::uint64_t>(row.communicator.value_or(0)) << 40U |
         static_cast<std::uint64_t>(kind_at_both(row.kind)) << 32U |
         static_cast<std::uint32_t>(row.number);
}

std::size_t count_collectives(const RunData& run) {
  std::size_t count = 0;
  for (const NodeData& node : run.nodes) count += node.collectives.size();
  return count * run.nodes.size();
}

bool is_usable(const record::Collective& row, const Sieve& sieve) {
  return sieve.keeps(row.number) && row.merged == 1 &&
         row.source == record::CollectiveSource::Gloo && row.own_ready_ns.known();
}

std::optional<std::size_t> last_neighbour(const record::Collective& row,
                                          const Neighbours& neighbours) {
  const auto found = row.flow.known() ? neighbours.find(row.flow.value()) : neighbours.end();
  if (found == neighbours.end() || !row.peer_ready_ns.known()) return {};
  return found->second;
}

// Values of docs/internals/clocks.md, "How packets show the offset"; kMaxRepeats and kMaxVotes
// bound the work.
constexpr std::size_t kMaxRepeats = 64;  // of a key; with more it is left out
constexpr std::size_t kMaxVotes = 1'000'000;
constexpr std::size_t kMinVotes = 4;  // packets that meet at one offset: fewer may meet by chance
constexpr std::int64_t kMaxWallDifferenceNs = 10'000'000'000;
constexpr std::int64_t kMeetingWidthNs = 500'000'000;
constexpr double kMaxDrift = 400e-6;

using Sightings = std::span<const Sighting>;

Sightings same_key(Sightings all, std::size_t from) {
  std::size_t to = from;
  while (to < all.size() && all[to].key == all[from].key) ++to;
  return all.subspan(from, to - from);
}

// Both lists are sorted. Calls `visit` with those that left and those that came under one key.
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

// The offset that each packet of one direction would have, were it the same at both ends; `sign` is
// that of the offset in what a packet seems to have taken.
void vote(const Passage& passage, int sign, std::vector<std::int64_t>& votes) {
  each_key(passage, [&](Sightings left, Sightings came) {
    if (left.size() > kMaxRepeats || came.size() > kMaxRepeats) return;
    if (votes.size() > kMaxVotes) return;
    for (const Sighting& from : left) {
      for (const Sighting& to : came) votes.push_back(sign * (to.t_ns - from.t_ns));
    }
  });
}

struct Meeting {
  std::int64_t offset_ns = 0;
  std::size_t votes = 0;
};

// The offset with most votes; of equally many the one nearer to the expected offset.
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

bool is_offset_reliable(const Meeting& meeting, std::optional<std::int64_t> expected_ns) {
  if (meeting.votes >= kMinVotes) return true;
  return meeting.votes > 0 && expected_ns &&
         std::abs(meeting.offset_ns - *expected_ns) < kMaxWallDifferenceNs;
}

// Those that left at a time at which they would have come within `width_ns` of this one.
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

std::map<NodePair, SharedPackets> shared_marks(const RunData& run) {
  std::map<NodePair, SharedPackets> result;
  const Sieve sieve(count_marks(run));
  for (std::size_t number = 0; number < run.connections.size(); ++number) {
    const Connection& connection = run.connections[number];
    if (!joins_two_nodes(connection)) continue;
    const auto [first, second] = std::minmax(connection.ends[0]->node, connection.ends[1]->node);
    SharedPackets& shared = result[{first, second}];
    for (const std::size_t end : {0U, 1U}) {
      const FlowPlace& here = *connection.ends[end];
      const FlowData& flow = run.flow(here);
      Passage& sends = here.node == first ? shared.there : shared.back;
      Passage& receives = here.node == first ? shared.back : shared.there;
      add_marks(flow.marks[end], number, sieve, sends.sent);
      add_marks(flow.marks[1 - end], number, sieve, receives.received);
    }
  }
  return result;
}

std::map<NodePair, SharedPackets> shared_collectives(const RunData& run) {
  std::map<NodePair, SharedPackets> result;
  const std::vector<Neighbours> neighbours = neighbours_of(run);
  const Sieve sieve(count_collectives(run));
  for (std::size_t here = 0; here < run.nodes.size(); ++here) {
    for (const record::Collective& row : run.nodes[here].collectives) {
      if (!is_usable(row, sieve)) continue;
      const std::optional<std::size_t> last = last_neighbour(row, neighbours[here]);
      if (!last) continue;
      const auto [first, second] = std::minmax(here, *last);
      SharedPackets& shared = result[{first, second}];
      Passage& receives = here == first ? shared.back : shared.there;
      receives.received.push_back({key_of(row), row.peer_ready_ns.value()});
    }
  }
  // What a rank sent may have been the last that any of its neighbours waited for.
  for (auto& [pair, shared] : result) {
    for (const record::Collective& row : run.nodes[pair.first].collectives) {
      if (is_usable(row, sieve))
        shared.there.sent.push_back({key_of(row), row.own_ready_ns.value()});
    }
    for (const record::Collective& row : run.nodes[pair.second].collectives) {
      if (is_usable(row, sieve))
        shared.back.sent.push_back({key_of(row), row.own_ready_ns.value()});
    }
  }
  return result;
}

SharedPackets joined(SharedPackets one, const SharedPackets& other) {
  const auto append = [](std::vector<Sighting>& to, const std::vector<Sighting>& from) {
    to.insert(to.end(), from.begin(), from.end());
  };
  append(one.there.sent, other.there.sent);
  append(one.there.received, other.there.received);
  append(one.back.sent, other.back.sent);
  append(one.back.received, other.back.received);
  return one;
}

std::optional<OneWayDelays> one_way_delays(SharedPackets& shared,
                                           std::optional<std::int64_t> expected_ns) {
  const std::optional<Bounds> bounds = bounds_of(shared);
  if (!bounds) return {};
  OneWayDelays result{.begin_ns = bounds->begin_ns,
                      .length_ns = static_cast<double>(bounds->end_ns - bounds->begin_ns)};
  const std::int64_t width_ns = kMeetingWidthNs + std::llround(kMaxDrift * result.length_ns);
  sort_all(shared);
  std::vector<std::int64_t> votes;
  vote(shared.there, 1, votes);
  vote(shared.back, -1, votes);
  const Meeting meeting = densest(votes, width_ns, expected_ns);
  if (!is_offset_reliable(meeting, expected_ns)) return {};
  result.offset_ns = meeting.offset_ns;
  result.there = delays_of(shared.there, 1, result, width_ns);
  result.back = delays_of(shared.back, -1, result, width_ns);
  return result;
}

}  // namespace chokepoint::analysis
