#include "analysis/phases/meetings.h"

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <map>
#include <ranges>
#include <tuple>
#include <utility>

namespace chokepoint::analysis {
namespace {

using record::CollectiveKind;
using record::CollectiveSource;

// Parts of one collective end within this time of each other: a judgement.
constexpr std::int64_t kMaxEndsApartNs = 2'000'000'000;
constexpr std::int64_t kMaxClockDifferenceNs = 10'000'000;  // by which two nodes' clocks may differ
// Of one key: groups whose members are not known are one, and ranks of another may come late.
constexpr std::size_t kMaxOpenMeetings = 8;

std::int64_t slack_ns(const Exchange& one, const Exchange& other) {
  return kMaxClockDifferenceNs + std::max(one.one_way_ns, other.one_way_ns);
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

// Whether no rank leaves it before all have come. Of the other kinds a root may.
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

// False if one was over before the other's last neighbour had arrived: then these are collectives
// of two process groups.
bool can_be_one(const Exchange& one, const Exchange& other) {
  const std::int64_t slack = slack_ns(one, other);
  return !is_left_together(one.kind) ||
         (one.all_ready_ns <= other.end_ns + slack && other.all_ready_ns <= one.end_ns + slack);
}

bool belongs(const Exchanges& exchanges, const Meeting& meeting, const Exchange& exchange) {
  if (std::abs(exchange.end_ns - at(exchanges, meeting.front()).end_ns) > kMaxEndsApartNs) {
    return false;
  }
  return std::ranges::none_of(meeting, [&](Part part) {
    const Exchange& other = at(exchanges, part);
    return (other.node == exchange.node && other.rank == exchange.rank) ||
           !can_be_one(other, exchange);
  });
}

using CollectiveKey = std::tuple<CollectiveSource, CollectiveKind, std::int64_t, std::int64_t>;

void add_collectives(const Exchanges& exchanges, const std::vector<Part>& parts,
                     std::vector<Meeting>& meetings) {
  std::map<CollectiveKey, std::deque<std::size_t>> latest;  // places of the newest meetings
  for (const Part part : parts) {
    const Exchange& exchange = at(exchanges, part);
    std::deque<std::size_t>& of_key =
        latest[{exchange.source, exchange.kind, exchange.number, exchange.group}];
    const auto found = std::ranges::find_if(
        of_key, [&](std::size_t place) { return belongs(exchanges, meetings[place], exchange); });
    if (found != of_key.end()) {
      meetings[*found].push_back(part);
      continue;
    }
    of_key.push_front(meetings.size());
    of_key.resize(std::min(of_key.size(), kMaxOpenMeetings));
    meetings.push_back({part});
  }
}

// Which end of a connection a part is at: its node, or where both ends are of one node its rank.
using End = std::pair<std::size_t, std::int64_t>;

End end_of(const Exchange& exchange, bool is_inside_node) {
  return {exchange.node, is_inside_node ? exchange.rank : 0};
}

// Messages of one number pass a connection in one direction one after the other, so the n-th that
// was sent is the n-th that was received, but for those that a record lacks.
struct NumberedMessages {
  std::vector<Part> sent = {};
  std::vector<Part> received = {};
};

// A receiver of Gloo lets data come when it is ready: a message that was sent before it was, or
// received before its sender was ready, is another one. NCCL's have a number each, and may leave
// before their receivers come.
class StreamPairs {
 public:
  StreamPairs(const Exchanges& exchanges, const NumberedMessages& stream)
      : exchanges_(exchanges), stream_(stream) {}

  void add_to(std::vector<Meeting>& meetings) const {
    std::size_t sent = 0;
    std::size_t received = 0;
    while (sent < stream_.sent.size() || received < stream_.received.size()) {
      if (received == stream_.received.size() ||
          (sent < stream_.sent.size() && was_sent_before(sent, received))) {
        meetings.push_back({stream_.sent[sent++]});
      } else if (sent == stream_.sent.size() || was_received_before(received, sent)) {
        meetings.push_back({stream_.received[received++]});
      } else {
        meetings.push_back({stream_.sent[sent++], stream_.received[received++]});
      }
    }
  }

 private:
  const Exchange& sent(std::size_t place) const { return at(exchanges_, stream_.sent[place]); }
  const Exchange& received(std::size_t place) const {
    return at(exchanges_, stream_.received[place]);
  }

  // Its receiver came after it was over.
  bool was_sent_before(std::size_t from, std::size_t to) const {
    return sent(from).source != CollectiveSource::Nccl &&
           received(to).all_ready_ns > sent(from).end_ns + slack_ns(sent(from), received(to));
  }
  // Its sender was ready after it was over.
  bool was_received_before(std::size_t to, std::size_t from) const {
    return sent(from).source != CollectiveSource::Nccl &&
           sent(from).all_ready_ns > received(to).end_ns + slack_ns(sent(from), received(to));
  }

  const Exchanges& exchanges_;
  const NumberedMessages& stream_;
};

using ConnectionKey = std::tuple<CollectiveSource, std::int64_t, std::int64_t>;

// In the order of their ends.
void add_messages(const Exchanges& exchanges, const std::vector<Part>& parts,
                  std::vector<Meeting>& meetings) {
  std::map<ConnectionKey, std::vector<Part>> of_connections;
  for (const Part part : parts) {
    const Exchange& own = at(exchanges, part);
    if (own.connection < 0) {
      meetings.push_back({part});
    } else {
      of_connections[{own.source, own.connection, own.number}].push_back(part);
    }
  }
  for (const auto& [key, messages] : of_connections) {
    const Exchange& first = at(exchanges, messages.front());
    const bool is_inside_node = std::ranges::all_of(
        messages, [&](Part part) { return at(exchanges, part).node == first.node; });
    std::map<bool, NumberedMessages> directions;  // by whether it is the first one's
    for (const Part part : messages) {
      const Exchange& own = at(exchanges, part);
      const bool is_sent = own.kind == CollectiveKind::Send;
      const bool is_of_first = end_of(own, is_inside_node) == end_of(first, is_inside_node);
      NumberedMessages& stream = directions[is_sent == is_of_first];
      (is_sent ? stream.sent : stream.received).push_back(part);
    }
    for (const auto& [direction, stream] : directions) {
      StreamPairs(exchanges, stream).add_to(meetings);
    }
  }
}

}  // namespace

std::vector<Meeting> meetings_of(const Exchanges& exchanges) {
  std::vector<Part> messages = in_order(exchanges);
  const auto first_message =
      std::stable_partition(messages.begin(), messages.end(),
                            [&](Part part) { return !is_message(at(exchanges, part)); });
  const std::vector<Part> collectives(messages.begin(), first_message);
  messages.erase(messages.begin(), first_message);
  std::vector<Meeting> meetings;
  add_collectives(exchanges, collectives, meetings);
  add_messages(exchanges, messages, meetings);
  std::ranges::stable_sort(meetings, {}, [&](const Meeting& meeting) {
    return std::ranges::min(
        meeting | std::views::transform([&](Part part) { return at(exchanges, part).end_ns; }));
  });
  return meetings;
}

}  // namespace chokepoint::analysis
