#include "analysis/phases/exchanges.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "analysis/load/captured_hosts.h"
#include "analysis/load/run_data.h"
#include "analysis/phases/meetings.h"

namespace chokepoint::analysis {
namespace {

using record::CollectiveKind;
using record::CollectiveSource;

// What a flow of a node's record is to the run.
struct FlowUse {
  std::int64_t connection = -1;
  std::int64_t one_way_ns = 0;  // half of the unloaded round trip
  std::int64_t process = 0;
  std::int64_t sent_bytes = 0;
};

// Without sockets, of the packets that travelled the whole path and not from the tap to its own
// host.
std::int64_t half_round_trip_ns(const RunData& run, const Connection& connection,
                                const FlowData& flow) {
  const std::int64_t of_sockets_us =
      lesser_rtt_us(least_rtt_us(flow.sockets[0]), least_rtt_us(flow.sockets[1]));
  if (of_sockets_us > 0 || !is_captured(run)) {
    return of_sockets_us * 1000 / 2;
  }
  std::int64_t of_packets_us = 0;
  for (const auto& end : connection.ends) {
    for (const std::size_t side : {0U, 1U}) {
      of_packets_us = std::max(of_packets_us,
                               end ? least_rtt_us(run.flow(*end).packets.at(side)) : of_packets_us);
    }
  }
  return of_packets_us * 1000 / 2;
}

std::int64_t sent_bytes(const FlowData& flow) {
  std::int64_t most = 0;
  for (const record::FlowTotal& total : flow.totals) {
    most = std::max(most, total.payload_bytes.value_or(0));
  }
  return most;
}

// By the id of the flow.
std::map<std::int64_t, FlowUse> uses_of(const RunData& run, std::size_t node) {
  std::map<std::int64_t, FlowUse> uses;
  for (std::size_t place = 0; place < run.connections.size(); ++place) {
    for (const auto& end : run.connections[place].ends) {
      if (end && end->node == node) {
        const FlowData& flow = run.flow(*end);
        uses[flow.row.id] = {.connection = static_cast<std::int64_t>(place),
                             .one_way_ns = half_round_trip_ns(run, run.connections[place], flow),
                             .process = flow.row.process.value_or(0),
                             .sent_bytes = sent_bytes(flow)};
      }
    }
  }
  return uses;
}

bool is_nccl(const record::Collective& row) { return row.source == CollectiveSource::Nccl; }

// Enqueued, and no more is known of it.
bool is_unreported(const record::Collective& row) {
  return is_nccl(row) && !row.own_ready_ns.known() && !row.last_data_ns.known();
}

bool is_message_row(const record::Collective& row) {
  return row.kind == CollectiveKind::Send || row.kind == CollectiveKind::Receive;
}

// The recorder numbers NCCL's messages by sender, receiver and how many there were before. The two
// ranks are the communicator's: in each of a job's pipelines rank 0 sends to rank 1.
constexpr unsigned kRanksAbove = 32;
constexpr unsigned kRankBits = 15;
constexpr std::int64_t kRankMask = (std::int64_t{1} << kRankBits) - 1;
constexpr std::int64_t kCommunicatorMask = (std::int64_t{1} << 23U) - 1;
constexpr std::int64_t kNoConnection = std::int64_t{1} << 60U;  // none of the run's is as large

constexpr std::int64_t kCountMask = (std::int64_t{1} << kRanksAbove) - 1;

std::int64_t ranks_of_message(const record::Collective& row) {
  if ((row.number & kCountMask) == kCountMask) {
    return -1;
  }
  const std::int64_t ranks = row.number >> kRanksAbove;
  const std::int64_t from = ranks >> kRankBits & kRankMask;
  const std::int64_t to = ranks & kRankMask;
  const std::int64_t communicator = row.communicator.value_or(0) & kCommunicatorMask;
  return kNoConnection | communicator << (2 * kRankBits) | std::min(from, to) << kRankBits |
         std::max(from, to);
}

// Whether the row shows when its rank arrived. Of Gloo's it does not where data followed the peer's
// announcement at once: the rank had been there before, for an unknown time.
bool is_ready_known(const record::Collective& row) {
  constexpr std::int64_t kMaxAtOnceNs = 1'000'000;
  if (is_nccl(row) || row.own_ready_ns.known()) {
    return row.own_ready_ns.known();
  }
  const bool has_followed_peer =
      row.peer_ready_ns.known() && row.first_data_ns.known() &&
      row.first_data_ns.value() - row.peer_ready_ns.value() < kMaxAtOnceNs;
  return !has_followed_peer;
}

Exchange exchange_of(const record::Collective& row, std::size_t place, const Clocks& clocks,
                     const FlowUse& use) {
  const std::int64_t otherwise_ns =
      is_nccl(row) ? row.start_ns : row.first_data_ns.value_or(row.start_ns);
  const std::int64_t own_ns = row.own_ready_ns.value_or(otherwise_ns);
  const std::int64_t peer_ns =
      row.peer_ready_ns.known() ? row.peer_ready_ns.value() - use.one_way_ns : 0;
  const std::int64_t ready_ns = std::max(own_ns, peer_ns);
  const std::int64_t last_ns = is_nccl(row) ? row.end_ns : row.last_data_ns.value_or(row.end_ns);
  const auto common = [&](std::int64_t t_ns) { return clocks.common_ns(place, t_ns); };
  return {
      .node = place,
      .rank = row.rank.value_or(-1),
      .source = row.source,
      .kind = row.kind,
      .number = number_of(row),
      .communicator = row.communicator.value_or(0),
      .connection = is_nccl(row) && is_message_row(row) ? ranks_of_message(row) : use.connection,
      .bytes = static_cast<double>(row.bytes.value_or(0)),
      .one_way_ns = use.one_way_ns,
      .is_ready_known = is_ready_known(row),
      .own_ready_ns = common(own_ns),
      .latest_ready_ns =
          is_nccl(row) && row.peer_ready_ns.known() ? common(row.peer_ready_ns.value()) : INT64_MAX,
      .all_ready_ns = common(ready_ns),
      .end_ns = common(std::max(last_ns, ready_ns))};
}

// A collective that was over before its connection had a row can be assigned only if there is one.
FlowUse use_of(const std::map<std::int64_t, FlowUse>& uses, record::Figure flow) {
  const auto use = uses.find(flow.value_or(-1));
  if (use == uses.end()) {
    return uses.size() == 1 ? uses.begin()->second : FlowUse{};
  }
  return use->second;
}

// NCCL names no connection: that of its rank's on which most went.
std::map<std::int64_t, FlowUse> busiest_by_rank(const NodeData& node,
                                                const std::map<std::int64_t, FlowUse>& uses) {
  std::map<std::int64_t, FlowUse> busiest;
  for (const record::Process& process : node.processes) {
    for (const auto& [id, use] : uses) {
      FlowUse& best = busiest[process.rank.value_or(-1)];
      best = use.process == process.id && use.sent_bytes >= best.sent_bytes ? use : best;
    }
  }
  return busiest;
}

// Of a rank that had come before its data did, only that is known: at the earliest it came when the
// one before it was over.
void bound_unknown(std::vector<Exchange>& of_rank) {
  std::ranges::sort(of_rank, {}, &Exchange::end_ns);
  std::int64_t before_ns = 0;
  for (Exchange& exchange : of_rank) {
    if (!exchange.is_ready_known && exchange.latest_ready_ns != INT64_MAX) {
      exchange.own_ready_ns = std::min(std::max(exchange.own_ready_ns, before_ns),
                                       std::min(exchange.latest_ready_ns, exchange.end_ns));
    }
    before_ns = std::max(before_ns, exchange.end_ns);
  }
}

// By rank.
std::map<std::int64_t, std::vector<Exchange>> exchanges_of(const RunData& run, std::size_t place,
                                                           const Clocks& clocks) {
  const std::map<std::int64_t, FlowUse> uses = uses_of(run, place);
  std::map<std::int64_t, FlowUse> busiest = busiest_by_rank(run.nodes[place], uses);
  std::map<std::int64_t, std::vector<Exchange>> exchanges;
  for (const record::Collective& row : run.nodes[place].collectives) {
    if (row.merged > 1 || is_unreported(row)) {
      continue;  // folded: the moments are lost
    }
    const bool has_flow = !is_nccl(row) || row.flow.known();
    const std::int64_t rank = row.rank.value_or(-1);
    exchanges[rank].push_back(
        exchange_of(row, place, clocks, has_flow ? use_of(uses, row.flow) : busiest[rank]));
  }
  if (exchanges.empty()) {
    exchanges[-1] = {};
  }
  for (auto& [rank, own] : exchanges) {
    bound_unknown(own);
    std::ranges::sort(own, {}, &Exchange::own_ready_ns);
  }
  return exchanges;
}

// NCCL's communicators have the same number at every rank. Of Gloo's process groups each rank has
// numbers of its own: two numbers are one group if they use one connection. Where that is not known
// of all of them, only time distinguishes collectives of different groups: see can_be_one() of
// meetings.cc.
class Groups {
 public:
  explicit Groups(const Exchanges& exchanges) {
    for (const auto& of_rank : exchanges) {
      for (const Exchange& exchange : of_rank) {
        if (exchange.source != CollectiveSource::Nccl && !is_message(exchange)) {
          take(exchange);
        }
      }
    }
    forget_leftovers();
    for (const auto& [member, own] : members_) {
      if (!own.is_linked) {
        join_by_meetings(member);
      }
    }
    for (const auto& [member, own] : members_) {
      numbers_.try_emplace(root_of(member), static_cast<std::int64_t>(numbers_.size()));
    }
    are_known_ = is_each_rank_once() && std::ranges::all_of(members_, [](const auto& entry) {
                   return entry.second.is_linked;
                 });
  }

  std::int64_t of(const Exchange& exchange) const {
    if (exchange.source == CollectiveSource::Nccl) {
      return exchange.communicator;
    }
    const Member member = member_of(exchange);
    return are_known_ && !is_message(exchange) && members_.contains(member)
               ? numbers_.at(root_of(member))
               : 0;
  }

 private:
  using Member = std::tuple<std::size_t, std::int64_t, std::int64_t>;  // node, rank, communicator

  struct Own {
    Member parent;
    bool is_linked = false;
    std::vector<const Exchange*> exchanges = {};
  };

  static Member member_of(const Exchange& exchange) {
    return {exchange.node, exchange.rank, exchange.communicator};
  }

  void take(const Exchange& exchange) {
    const Member member = member_of(exchange);
    members_.try_emplace(member, Own{.parent = member})
        .first->second.exchanges.push_back(&exchange);
    if (exchange.connection >= 0) {
      const Member other = first_of_.try_emplace(exchange.connection, member).first->second;
      if (other != member) {
        link(member, other);
      }
    }
  }

  void link(const Member& one, const Member& other) {
    members_.at(one).is_linked = true;
    members_.at(other).is_linked = true;
    members_.at(root_of(one)).parent = root_of(other);
  }

  Member root_of(Member member) const {
    while (members_.at(member).parent != member) {
      member = members_.at(member).parent;
    }
    return member;
  }

  // Drops groups with few exchanges: those made before the rank's process was known, or while its
  // groups were set up.
  void forget_leftovers() {
    constexpr double kMaxLeftoverShare = 0.05;  // of the node's exchanges
    std::map<std::size_t, double> of_node;
    for (const auto& [member, own] : members_) {
      of_node[std::get<0>(member)] += static_cast<double>(own.exchanges.size());
    }
    const auto is_leftover = [&](const Member& member) {
      return static_cast<double>(members_.at(member).exchanges.size()) <
             kMaxLeftoverShare * of_node[std::get<0>(member)];
    };
    std::vector<Member> leftovers;
    for (const auto& [member, own] : members_) {
      if (is_leftover(member)) {
        leftovers.push_back(member);
      }
    }
    for (const Member& member : leftovers) {
      forget(member);
    }
  }

  // Members that were linked through it stay linked.
  void forget(const Member& member) {
    std::vector<Member> children;
    for (const auto& [child, own] : members_) {
      if (child != member && own.parent == member) {
        children.push_back(child);
      }
    }
    const Member parent = members_.at(member).parent;
    for (const Member& child : children) {
      members_.at(child).parent = parent == member ? children.front() : parent;
    }
    members_.erase(member);
  }

  // A rank whose connections do not show its group joins the group that has most of its
  // collectives, of the same kind and number at the same time.
  void join_by_meetings(const Member& member) {
    // Of the member's exchanges, that the group must have, too.
    constexpr double kMinCommonShare = 0.8;
    const Own& own = members_.at(member);
    const Member* best = nullptr;
    std::size_t most = 0;
    for (const auto& [other, theirs] : members_) {
      const std::size_t met = has_rank(root_of(other), member) ? 0 : like(own, theirs);
      if (other != member && met > most) {
        best = &other;
        most = met;
      }
    }
    if (best != nullptr &&
        static_cast<double>(most) >= kMinCommonShare * static_cast<double>(own.exchanges.size())) {
      link(member, *best);
    }
  }

  bool has_rank(const Member& root, const Member& member) const {
    return std::ranges::any_of(members_, [&](const auto& entry) {
      return entry.first != member && std::get<0>(entry.first) == std::get<0>(member) &&
             std::get<1>(entry.first) == std::get<1>(member) && root_of(entry.first) == root;
    });
  }

  static std::size_t like(const Own& one, const Own& other) {
    std::size_t count = 0;
    auto first = other.exchanges.begin();
    for (const Exchange* exchange : one.exchanges) {
      while (first != other.exchanges.end() && (*first)->end_ns < exchange->own_ready_ns) {
        ++first;
      }
      const auto after = std::find_if(first, other.exchanges.end(), [&](const Exchange* candidate) {
        return candidate->own_ready_ns > exchange->end_ns;
      });
      count += std::any_of(first, after, [&](const Exchange* candidate) {
        return candidate->kind == exchange->kind && candidate->number == exchange->number;
      });
    }
    return count;
  }

  // A rank has one number for each of its groups: two numbers in one group are a wrong link.
  bool is_each_rank_once() const {
    std::set<Member> seen;  // with its group in place of its number
    return std::ranges::all_of(members_, [&](const auto& entry) {
      const auto& [node, rank, communicator] = entry.first;
      return seen.insert({node, rank, numbers_.at(root_of(entry.first))}).second;
    });
  }

  std::map<Member, Own> members_;
  std::map<std::int64_t, Member> first_of_;  // by connection
  std::map<Member, std::int64_t> numbers_;
  bool are_known_ = false;
};

void settle(Exchanges& exchanges, const Meeting& meeting) {
  std::int64_t last_ns = std::numeric_limits<std::int64_t>::min();
  for (const Part part : meeting) {
    last_ns = std::max(last_ns, at(exchanges, part).own_ready_ns);
  }
  for (const Part part : meeting) {
    Exchange& own = exchanges[part.list][part.place];
    own.all_ready_ns =
        std::clamp(last_ns, own.own_ready_ns, std::max(own.end_ns, own.own_ready_ns));
  }
}

}  // namespace

std::int64_t number_of(const record::Collective& row) {
  return is_nccl(row) && is_message_row(row) ? row.number & kCountMask : row.number;
}

Exchanges exchanges_of(const RunData& run, const Clocks& clocks) {
  Exchanges exchanges;
  for (std::size_t place = 0; place < run.nodes.size(); ++place) {
    for (auto& [rank, own] : exchanges_of(run, place, clocks)) {
      exchanges.push_back(std::move(own));
    }
  }
  const Groups groups(exchanges);
  for (auto& of_rank : exchanges) {
    for (Exchange& exchange : of_rank) {
      exchange.group = groups.of(exchange);
    }
  }
  for (const Meeting& meeting : meetings_of(exchanges)) {
    if (meeting.size() > 1) {
      settle(exchanges, meeting);  // a rank's own record is the best source of its arrival
    }
  }
  return exchanges;
}

}  // namespace chokepoint::analysis
