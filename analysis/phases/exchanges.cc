#include "analysis/phases/exchanges.h"

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "analysis/load/run_data.h"

namespace chokepoint::analysis {
namespace {

using record::CollectiveKind;
using record::CollectiveSource;

constexpr std::int64_t kSameMeetingNs = 2'000'000'000;
constexpr std::int64_t kClockSlackNs = 10'000'000;  // by which two nodes' clocks may differ
constexpr std::size_t kOpenMeetings = 8;  // of one key, as messages' numbers come again each step

// What a flow of a node's record is to the run.
struct FlowUse {
  std::int64_t connection = -1;
  std::int64_t way_ns = 0;  // half of the unloaded round trip
  std::int64_t process = 0;
  std::int64_t sent_bytes = 0;
};

std::int64_t half_round_trip_ns(const FlowData& flow) {
  return lesser_rtt_us(least_rtt_us(flow.sockets[0]), least_rtt_us(flow.sockets[1])) * 1000 / 2;
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
                             .way_ns = half_round_trip_ns(flow),
                             .process = flow.row.process.value_or(0),
                             .sent_bytes = sent_bytes(flow)};
      }
    }
  }
  return uses;
}

bool is_nccl(const record::Collective& row) { return row.source == CollectiveSource::Nccl; }

// Asked for, and no more is known of it.
bool is_unreported(const record::Collective& row) {
  return is_nccl(row) && !row.own_ready_ns.known() && !row.last_data_ns.known();
}

bool is_message_row(const record::Collective& row) {
  return row.kind == CollectiveKind::Send || row.kind == CollectiveKind::Receive;
}

// The recorder numbers NCCL's messages by sender, receiver and how many there were before.
constexpr unsigned kRanksAbove = 32;
constexpr std::int64_t kMaxRanks = std::int64_t{1} << 15U;
constexpr std::int64_t kNoConnection = std::int64_t{1} << 40U;  // none of the run's is as large

std::int64_t ranks_of_message(const record::Collective& row) {
  const std::int64_t ranks = row.number >> kRanksAbove;
  const std::int64_t from = ranks / kMaxRanks;
  const std::int64_t to = ranks % kMaxRanks;
  return kNoConnection + std::min(from, to) * kMaxRanks + std::max(from, to);
}

Exchange exchange_of(const record::Collective& row, std::size_t place, const Clocks& clocks,
                     const FlowUse& use) {
  const std::int64_t otherwise_ns =
      is_nccl(row) ? row.start_ns : row.first_data_ns.value_or(row.start_ns);
  const std::int64_t own_ns = row.own_ready_ns.value_or(otherwise_ns);
  const std::int64_t peer_ns =
      row.peer_ready_ns.known() ? row.peer_ready_ns.value() - use.way_ns : 0;
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
      .way_ns = use.way_ns,
      .knows_ready = !is_nccl(row) || row.own_ready_ns.known(),
      .own_ready_ns = common(own_ns),
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
    std::ranges::sort(own, {}, &Exchange::own_ready_ns);
  }
  return exchanges;
}

using MeetingKey = std::tuple<CollectiveSource, CollectiveKind, std::int64_t, std::int64_t>;

MeetingKey key_of(const Exchange& exchange) {
  return {exchange.source, kind_at_both(exchange.kind), exchange.number,
          is_message(exchange) ? exchange.connection : exchange.group};
}

// NCCL's communicators have the same number everywhere. A rank knows Gloo's process groups by
// numbers of its own: they are one group if they use one connection. Where that is not known of all
// of them, only time tells collectives of different groups apart: see can_be_one().
class Groups {
 public:
  explicit Groups(const Exchanges& exchanges) {
    std::map<std::int64_t, Member> first_of;  // by connection
    std::set<Member> linked;
    for (const auto& of_rank : exchanges) {
      for (const Exchange& exchange : of_rank) {
        if (exchange.source == CollectiveSource::Nccl || is_message(exchange)) {
          continue;
        }
        const Member own = member_of(exchange);
        parents_.try_emplace(own, own);
        if (exchange.connection < 0) {
          continue;
        }
        const Member other = first_of.try_emplace(exchange.connection, own).first->second;
        if (other != own) {
          linked.insert(own);
          linked.insert(other);
          parents_[root_of(own)] = root_of(other);
        }
      }
    }
    are_known_ = linked.size() == parents_.size();
    for (const auto& [member, parent] : parents_) {
      numbers_.try_emplace(root_of(member), static_cast<std::int64_t>(numbers_.size()));
    }
  }

  std::int64_t of(const Exchange& exchange) const {
    if (exchange.source == CollectiveSource::Nccl) {
      return exchange.communicator;
    }
    return are_known_ && !is_message(exchange) ? numbers_.at(root_of(member_of(exchange))) : 0;
  }

 private:
  using Member = std::tuple<std::size_t, std::int64_t, std::int64_t>;  // node, rank, communicator

  static Member member_of(const Exchange& exchange) {
    return {exchange.node, exchange.rank, exchange.communicator};
  }

  Member root_of(Member member) const {
    while (parents_.at(member) != member) {
      member = parents_.at(member);
    }
    return member;
  }

  std::map<Member, Member> parents_;
  std::map<Member, std::int64_t> numbers_;
  bool are_known_ = false;
};

// Whether nobody leaves it before all have come. Of the others a root may.
bool is_left_together(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::AllReduce:
    case CollectiveKind::AllGather:
    case CollectiveKind::ReduceScatter:
    case CollectiveKind::AllToAll:
    case CollectiveKind::Barrier:
      return true;
    default:
      return false;
  }
}

// Not so if one was over before the other's last neighbour had come: then these are collectives of
// two process groups.
bool can_be_one(const Exchange& one, const Exchange& other) {
  const std::int64_t slack_ns = kClockSlackNs + std::max(one.way_ns, other.way_ns);
  return !is_left_together(one.kind) || (one.all_ready_ns <= other.end_ns + slack_ns &&
                                         other.all_ready_ns <= one.end_ns + slack_ns);
}

bool belongs(const Exchanges& exchanges, const Meeting& meeting, const Exchange& exchange) {
  if (std::abs(exchange.end_ns - at(exchanges, meeting.front()).end_ns) > kSameMeetingNs) {
    return false;
  }
  return std::ranges::none_of(meeting, [&](Part part) {
    const Exchange& other = at(exchanges, part);
    return (other.node == exchange.node && other.rank == exchange.rank) ||
           (is_message(exchange) && other.kind == exchange.kind) || !can_be_one(other, exchange);
  });
}

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

std::vector<Part> in_order(const Exchanges& exchanges) {
  std::vector<Part> parts;
  for (std::size_t list = 0; list < exchanges.size(); ++list) {
    for (std::size_t place = 0; place < exchanges[list].size(); ++place) {
      parts.push_back({list, place});
    }
  }
  std::ranges::sort(parts, {}, [&](Part part) { return at(exchanges, part).end_ns; });
  return parts;
}

}  // namespace

std::int64_t number_of(const record::Collective& row) {
  constexpr std::int64_t kCount = (std::int64_t{1} << kRanksAbove) - 1;
  return is_nccl(row) && is_message_row(row) ? row.number & kCount : row.number;
}

std::vector<Meeting> meetings_of(const Exchanges& exchanges) {
  std::map<MeetingKey, std::deque<std::size_t>> latest;  // places of the newest meetings
  std::vector<Meeting> meetings;
  for (const Part part : in_order(exchanges)) {
    const Exchange& exchange = at(exchanges, part);
    if (is_message(exchange) && exchange.connection < 0) {
      meetings.push_back({part});
      continue;
    }
    std::deque<std::size_t>& of_key = latest[key_of(exchange)];
    const auto found = std::ranges::find_if(
        of_key, [&](std::size_t place) { return belongs(exchanges, meetings[place], exchange); });
    if (found != of_key.end()) {
      meetings[*found].push_back(part);
      continue;
    }
    of_key.push_front(meetings.size());
    of_key.resize(std::min(of_key.size(), kOpenMeetings));
    meetings.push_back({part});
  }
  return meetings;
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
      settle(exchanges, meeting);  // who has a record knows best when it came
    }
  }
  return exchanges;
}

}  // namespace chokepoint::analysis
