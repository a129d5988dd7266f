#include "analysis/phases/messages.h"

#include <algorithm>
#include <map>

#include "analysis/phases/thoughts.h"
#include "base/math/statistics.h"

namespace chokepoint::analysis {
namespace {

using record::CollectiveKind;

using Way = std::pair<std::int64_t, std::size_t>;  // connection, sender

std::map<Way, double> usual_thoughts(const std::vector<std::vector<StageCompute>>& thoughts) {
  std::map<Way, std::vector<double>> of_way;
  for (const auto& of_node : thoughts) {
    for (const StageCompute& thought : of_node) {
      of_way[{thought.sent->connection, thought.sent->node}].push_back(thought.ns);
    }
  }
  std::map<Way, double> usual;
  for (const auto& [way, all] : of_way) {
    usual[way] = math::median(all).value_or(0);
  }
  return usual;
}

// Where a pipeline turns round or begins anew a stage thinks for both ways.
double allowed_ns(const std::map<Way, double>& usual, std::int64_t connection) {
  double sum_ns = 0;
  for (const auto& [way, ns] : usual) {
    sum_ns += way.first == connection ? ns : 0;
  }
  return sum_ns;
}

std::map<const Exchange*, const Exchange*> receivers_of(const Exchanges& exchanges,
                                                        std::span<const Meeting> meetings) {
  std::map<const Exchange*, const Exchange*> receivers;
  for (const Meeting& meeting : meetings) {
    if (meeting.size() == 2 && is_message(at(exchanges, meeting.front()))) {
      const Exchange& one = at(exchanges, meeting.front());
      const Exchange& other = at(exchanges, meeting.back());
      const bool is_sender_first = one.kind == CollectiveKind::Send;
      receivers[is_sender_first ? &one : &other] = is_sender_first ? &other : &one;
    }
  }
  return receivers;
}

std::vector<std::vector<StageCompute>> all_thoughts(const Exchanges& exchanges) {
  std::vector<std::vector<StageCompute>> thoughts;
  for (const auto& of_node : exchanges) {
    thoughts.push_back(thoughts_of(of_node));
  }
  return thoughts;
}

}  // namespace

std::vector<Late> late_senders(const Exchanges& exchanges, std::span<const Meeting> meetings) {
  const std::vector<std::vector<StageCompute>> thoughts = all_thoughts(exchanges);
  const std::map<Way, double> usual = usual_thoughts(thoughts);
  const auto receivers = receivers_of(exchanges, meetings);
  std::vector<Late> late;
  for (const auto& of_node : thoughts) {
    for (const StageCompute& thought : of_node) {
      const auto receiver = receivers.find(thought.sent);
      if (receiver == receivers.end()) {
        continue;
      }
      const std::int64_t sent_ns = thought.sent->own_ready_ns;
      const double excess_ns = thought.ns - allowed_ns(usual, thought.sent->connection);
      const double waited_ns = static_cast<double>(sent_ns - receiver->second->own_ready_ns);
      const double lost_ns = std::min(excess_ns, waited_ns);
      if (lost_ns > 0) {
        late.push_back({.node = thought.sent->node,
                        .waited = {sent_ns - static_cast<std::int64_t>(lost_ns), sent_ns},
                        .lost_ns = lost_ns});
      }
    }
  }
  return late;
}

}  // namespace chokepoint::analysis
