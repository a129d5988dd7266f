#include "analysis/phases/phases.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "analysis/load/connections.h"
#include "analysis/phases/activity.h"
#include "analysis/phases/lateness.h"
#include "analysis/phases/meetings.h"
#include "analysis/phases/overlap.h"
#include "analysis/phases/steps.h"
#include "base/math/statistics.h"
#include "base/record/names.h"

namespace chokepoint::analysis {
namespace {

using record::CollectiveKind;

constexpr double kMinUnattributed = 0.05;  // of a step: less is how long data take inside a host

// Which meetings decided how long the run took: back from its last exchange, always to the rank
// that came last, and to what that rank exchanged before. With one group of ranks these are all of
// them. With many groups the ranks of each wait for a late one now and then: that costs the run
// nothing where they would have waited for another group anyway.
//
//   ranks 0, 1   ──┤·├───────────┤······├─ all     only the waits of ranks 2 and 3 count
//   ranks 2, 3   ──────┤·····├──────────┤─ all
class CriticalMeetings {
 public:
  CriticalMeetings(const Exchanges& exchanges, const std::vector<Meeting>& meetings)
      : exchanges_(exchanges), meetings_(meetings), is_critical_(meetings.size(), false) {
    for (const auto& of_rank : exchanges) {
      meeting_of_.emplace_back(of_rank.size());
      parents_.push_back(parents_.size());
    }
    for (std::size_t number = 0; number < meetings.size(); ++number) {
      for (const Part part : meetings[number]) {
        meeting_of_[part.list][part.place] = number;
        parents_[root_of(part.list)] = root_of(meetings[number].front().list);
      }
    }
    for (std::size_t list = 0; list < exchanges.size(); ++list) {
      sets_.try_emplace(root_of(list), root_of(list));
    }
    for (const auto& [root, last] : last_parts()) {
      walk_back(last);
    }
  }

  // `together`: ranks that meet each other in exchanges that the record does not have.
  void join(const std::set<RankId>& together) {
    std::optional<std::size_t> first;
    for (std::size_t list = 0; list < exchanges_.size(); ++list) {
      const auto& own = exchanges_[list];
      if (own.empty() || !together.contains({own.front().node, own.front().rank})) {
        continue;
      }
      const std::size_t set = sets_.at(root_of(list));
      const std::size_t into = first.value_or(set);
      first = into;
      for (auto& [root, each] : sets_) {
        each = each == set ? into : each;
      }
    }
  }

  bool operator[](std::size_t meeting) const { return is_critical_[meeting]; }
  // The same number for all meetings of ranks that meet each other, also through others, or are
  // known to. Which number it is does not change which meetings are critical.
  std::size_t set_of(std::size_t meeting) const {
    return sets_.at(root_of(meetings_[meeting].front().list));
  }

 private:
  std::size_t root_of(std::size_t list) const {
    while (parents_[list] != list) {
      list = parents_[list];
    }
    return list;
  }

  // Of each set.
  std::map<std::size_t, Part> last_parts() const {
    std::map<std::size_t, Part> last;
    for (std::size_t list = 0; list < exchanges_.size(); ++list) {
      for (std::size_t place = 0; place < exchanges_[list].size(); ++place) {
        Part& latest = last.try_emplace(root_of(list), Part{list, place}).first->second;
        if (exchanges_[list][place].end_ns > at(exchanges_, latest).end_ns) {
          latest = {list, place};
        }
      }
    }
    return last;
  }

  void walk_back(Part part) {
    while (true) {
      const std::size_t number = meeting_of_[part.list][part.place];
      if (!is_critical_[number]) {
        is_critical_[number] = true;
        part = *std::ranges::max_element(
            meetings_[number], {}, [&](Part each) { return at(exchanges_, each).own_ready_ns; });
      }
      if (part.place == 0) {
        return;
      }
      --part.place;
    }
  }

  const Exchanges& exchanges_;
  const std::vector<Meeting>& meetings_;
  std::vector<bool> is_critical_;
  std::vector<std::vector<std::size_t>> meeting_of_;  // by list and place
  std::vector<std::size_t> parents_;
  std::map<std::size_t, std::size_t> sets_;  // by root
};

// Of a message, from when both of its ends were ready; of a collective, each rank's part.
Span communication_of(const Exchanges& exchanges, const Meeting& meeting) {
  Span span{at(exchanges, meeting.front()).all_ready_ns, at(exchanges, meeting.front()).end_ns};
  for (const Part part : meeting) {
    span.start_ns = std::max(span.start_ns, at(exchanges, part).all_ready_ns);
    span.end_ns = std::max(span.end_ns, at(exchanges, part).end_ns);
  }
  return span;
}

bool has_common_rank(const Meeting& one, const Meeting& other) {
  return std::ranges::any_of(
      one, [&](Part part) { return std::ranges::count(other, part.list, &Part::list) > 0; });
}

// While one group of ranks waits for a late one, another may exchange. Where the one that waits
// ends last, the step is as long as it is for the late rank.
//
//   ranks 1, 3   ──┤ exchange ───────┤
//   ranks 0, 2   ──┤ wait for 0 ·····├─ exchange ───────┤
class OverlappedWaits {
 public:
  OverlappedWaits(const Exchanges& exchanges, const std::vector<Meeting>& meetings,
                  const std::vector<Late>& late)
      : exchanges_(exchanges), meetings_(meetings) {
    for (const Late& each : late) {
      if (each.meeting && !is_message(at(exchanges, meetings[*each.meeting].front()))) {
        late_.push_back(&each);
        longest_ns_ = std::max(longest_ns_, each.waited.length_ns());
      }
    }
    std::ranges::sort(late_, {}, [](const Late* each) { return each->waited.end_ns; });
  }

  // The parts of the meeting's exchange that do not count.
  Spans of(const Meeting& meeting, Span exchange) const {
    Spans waited;
    auto each = std::ranges::lower_bound(late_, exchange.start_ns, {},
                                         [](const Late* late) { return late->waited.end_ns; });
    for (; each != late_.end() && (*each)->waited.end_ns - longest_ns_ < exchange.end_ns; ++each) {
      const Meeting& later = meetings_[*(*each)->meeting];
      if (communication_of(exchanges_, later).end_ns > exchange.end_ns &&
          !has_common_rank(meeting, later)) {
        waited.push_back((*each)->waited);
      }
    }
    return united(std::move(waited));
  }

 private:
  const Exchanges& exchanges_;
  const std::vector<Meeting>& meetings_;
  std::vector<const Late*> late_;  // in the order of their ends
  std::int64_t longest_ns_ = 0;
};

Spans without(Span span, std::span<const Span> holes) {
  Spans left;
  for (const Span& hole : holes) {
    left.push_back({span.start_ns, std::min(hole.start_ns, span.end_ns)});
    span.start_ns = std::max(span.start_ns, hole.end_ns);
  }
  left.push_back(span);
  return united(std::move(left));
}

Spans communication_of(const Exchanges& exchanges, const std::vector<Meeting>& meetings,
                       const std::vector<Late>& late) {
  const OverlappedWaits overlapped(exchanges, meetings, late);
  Spans spans;
  for (const Meeting& meeting : meetings) {
    const Span exchange = communication_of(exchanges, meeting);
    std::ranges::copy(without(exchange, overlapped.of(meeting, exchange)),
                      std::back_inserter(spans));
  }
  return united(std::move(spans));
}

bool is_any(const Exchanges& exchanges) {
  return std::ranges::any_of(exchanges, [](const auto& of_node) { return !of_node.empty(); });
}

bool is_mostly_messages(const Exchanges& exchanges) {
  double all = 0;
  double of_messages = 0;
  for (const auto& of_node : exchanges) {
    for (const Exchange& exchange : of_node) {
      all += exchange.bytes;
      of_messages += is_message(exchange) ? exchange.bytes : 0;
    }
  }
  return of_messages > all / 2;
}

// One process, or several without ranks, and no connection that carried data: sockets are seen
// without privileges, so a connection would be in the record.
bool is_alone(const RunData& run) {
  return run.nodes.size() == 1 && run.connections.empty() && run.nodes[0].collectives.empty() &&
         !run.nodes[0].processes.empty() && !run.nodes[0].find(record::kThreadCpu).empty() &&
         std::ranges::all_of(run.nodes[0].processes, [](const record::Process& process) {
           return process.world_size.value_or(1) <= 1;
         });
}

double per_step_ms(double ns, const StepLine& steps) {
  return ns / 1e6 / static_cast<double>(steps.settled.size());
}

// By NCCL's communicator, the ranks that exchange in it; and those whose arrival is ever reported.
struct Members {
  std::map<std::int64_t, std::set<RankId>> all = {};
  std::map<std::int64_t, std::set<RankId>> reported = {};
};

Members members_of(const RunData& run) {
  Members members;
  for (std::size_t place = 0; place < run.nodes.size(); ++place) {
    for (const record::Collective& row : run.nodes[place].collectives) {
      if (row.source != record::CollectiveSource::Nccl || !row.rank.known() ||
          row.kind == CollectiveKind::Send || row.kind == CollectiveKind::Receive) {
        continue;
      }
      const RankId rank{place, row.rank.value()};
      members.all[row.communicator.value_or(0)].insert(rank);
      if (row.own_ready_ns.known() || row.peer_ready_ns.known()) {
        members.reported[row.communicator.value_or(0)].insert(rank);
      }
    }
  }
  return members;
}

struct Waiting {
  std::vector<Late> late = {};
  std::vector<RankLateness> ranks = {};
  Spans held = {};  // no lateness: what would have shown that the rank had come was held up itself
  Spans busy = {};  // when any rank had something under way
};

std::vector<RankLateness> ranks_in(const Exchanges& exchanges) {
  std::vector<RankLateness> ranks;
  for (const auto& of_rank : exchanges) {
    if (!of_rank.empty()) {
      ranks.push_back({.node = of_rank.front().node, .rank = of_rank.front().rank});
    }
  }
  return ranks;
}

void add_late(const Late& late, double ms, std::vector<RankLateness>& ranks) {
  const auto found = std::ranges::find_if(ranks, [&](const RankLateness& rank) {
    return rank.node == late.node && rank.rank == late.rank;
  });
  if (found == ranks.end()) {
    ranks.push_back({.node = late.node, .rank = late.rank, .late_ms = ms});
  } else {
    found->late_ms += ms;
  }
}

// Whose sending is seen, without the library's messages.
std::vector<RankLateness> senders_seen(const RunData& run) {
  std::vector<RankLateness> ranks;
  for (const Connection& connection : run.exchanging()) {
    for (const std::size_t side : {0U, 1U}) {
      if (const auto rank = sender_rank(run, connection, side)) {
        add_late({.node = connection.ends.at(side)->node, .rank = *rank}, 0, ranks);
      }
    }
  }
  return ranks;
}

// `counted`: in order, and apart; no span in it ends after this one.
void count(Span span, Spans& counted) {
  while (!counted.empty() && counted.back().end_ns >= span.start_ns) {
    span.start_ns = std::min(span.start_ns, counted.back().start_ns);
    counted.pop_back();
  }
  counted.push_back(span);
}

// How long each rank's own exchanges waited for it, other late ranks left aside.
std::map<RankId, double> late_by_rank(const std::vector<Late>& late, const Spans& inside) {
  std::map<RankId, double> ns;
  for (const Late& each : late) {
    if (covers(inside, each.waited.end_ns)) {
      ns[{each.node, each.rank}] += each.lost_ns;
    }
  }
  return ns;
}

// Ranks that wait for each other in exchanges that the record does not have all arrive late at the
// others with the one that is late: their lateness counts once.
void join_similar(const Members& members, const std::map<RankId, double>& alone,
                  const StepLine& steps, std::vector<RankLateness>& ranks) {
  constexpr double kMinSimilarLateness = 0.5;  // of the one that is latest
  const auto alone_ns = [&](const RankLateness& rank) {
    const auto found = alone.find({rank.node, rank.rank});
    return found == alone.end() ? 0 : found->second;
  };
  for (const auto& [communicator, all] : members.all) {
    std::vector<RankLateness*> inside;
    for (RankLateness& rank : ranks) {
      if (all.contains({rank.node, rank.rank}) && !members.reported.contains(communicator)) {
        inside.push_back(&rank);
      }
    }
    if (inside.size() < 2) {
      continue;
    }
    RankLateness& latest = **std::ranges::max_element(
        inside, {}, [&](const RankLateness* rank) { return alone_ns(*rank); });
    for (RankLateness* rank : inside) {
      if (rank != &latest && rank->node == latest.node && alone_ns(*rank) > 0 &&
          alone_ns(*rank) > kMinSimilarLateness * alone_ns(latest)) {
        latest.similar.push_back(rank->rank);
        latest.late_ms += std::exchange(rank->late_ms, 0);
      }
    }
    if (!latest.similar.empty()) {
      latest.late_ms = std::min(latest.late_ms, per_step_ms(alone_ns(latest), steps));
    }
  }
}

Waiting waiting_of(const RunData& run, const Clocks& clocks, const Exchanges& exchanges,
                   const std::vector<Meeting>& meetings, const StepLine& steps,
                   const Worked& worked) {
  const Spans inside = united(steps.settled);
  Waiting waiting{.late = late_arrivals(exchanges, meetings, steps.settled, worked),
                  .ranks = ranks_in(exchanges)};
  const std::map<RankId, double> alone = late_by_rank(waiting.late, inside);
  const Members members = members_of(run);
  CriticalMeetings critical(exchanges, meetings);
  for (const auto& [communicator, all] : members.all) {
    critical.join(all);
  }
  std::erase_if(waiting.late,
                [&](const Late& late) { return late.meeting && !critical[*late.meeting]; });
  std::ranges::sort(waiting.late, {}, [](const Late& late) { return late.waited.end_ns; });
  std::map<RankId, SenderActivity> senders;
  for (const RankLateness& rank : waiting.ranks) {
    senders[{rank.node, rank.rank}] = senders_of(run, clocks, rank.node, rank.rank);
  }
  std::map<std::size_t, Spans>
      counted_in;  // by set: what is waited for twice at a time counts once
  for (const Late& late : waiting.late) {
    const Spans waited = common_to(std::span(&late.waited, 1), touching(inside, late.waited));
    const Spans held =
        common_to(waited, touching(senders[{late.node, late.rank}].busy, late.waited));
    Spans& counted = counted_in[critical.set_of(*late.meeting)];
    Spans taken = common_to(waited, touching(counted, late.waited));
    std::ranges::copy(held, std::back_inserter(taken));
    const auto free_ns =
        static_cast<double>(length_ns(waited) - length_ns(united(std::move(taken))));
    add_late(late, per_step_ms(std::min(late.lost_ns, free_ns), steps), waiting.ranks);
    count(late.waited, counted);
    std::ranges::copy(held, std::back_inserter(waiting.held));
  }
  for (const auto& [rank, sender] : senders) {
    std::ranges::copy(sender.stalled, std::back_inserter(waiting.held));
    std::ranges::copy(sender.busy, std::back_inserter(waiting.busy));
  }
  waiting.busy = united(std::move(waiting.busy));
  join_similar(members, alone, steps, waiting.ranks);
  return waiting;
}

UnattributedWait unattributed_wait_of(const RunData& run, const Exchanges& exchanges,
                                      const std::vector<Meeting>& meetings, const Waiting& waiting,
                                      const StepLine& steps) {
  const Members members = members_of(run);
  UnattributedWait unattributed;
  Spans idle;
  std::set<std::int64_t> ranks;
  for (const Meeting& meeting : meetings) {
    const Exchange& any = at(exchanges, meeting.front());
    const auto all = members.all.find(any.communicator);
    const Span exchange = communication_of(exchanges, meeting);
    if (any.source != record::CollectiveSource::Nccl || is_message(any) ||
        all == members.all.end() || meeting.size() >= all->second.size()) {
      continue;
    }
    std::ranges::copy(without(exchange, touching(waiting.busy, exchange)),
                      std::back_inserter(idle));
    for (const auto& [node, rank] : all->second) {
      if (!members.reported.contains(any.communicator) ||
          !members.reported.at(any.communicator).contains({node, rank})) {
        ranks.insert(rank);
      }
    }
  }
  unattributed.ranks.assign(ranks.begin(), ranks.end());
  // Without sockets nothing shows when data were under way.
  if (!waiting.busy.empty()) {
    const auto idle_ns =
        static_cast<double>(length_ns(common_to(united(std::move(idle)), united(steps.settled))));
    unattributed.ms = per_step_ms(idle_ns, steps);
  }
  return unattributed;
}

// Ranks of several groups may be late at the same time: together they cost no more than there was.
void fit_into(double most_ms, std::vector<RankLateness>& ranks) {
  const double sum_ms = math::sum_by(ranks, &RankLateness::late_ms);
  if (sum_ms <= most_ms) {
    return;
  }
  for (RankLateness& rank : ranks) {
    rank.late_ms *= most_ms / sum_ms;
  }
}

// Ranks that call each other meet by collectives, too, when they begin and end: these say nothing
// of the steps.
bool is_by_calls(const RunData& run) {
  constexpr double kMostOfCollectives = 0.1;  // of what the calls carry
  std::map<traffic::Purpose, double> bytes;
  for (const Connection& connection : run.exchanging()) {
    if (connection.names[0] != connection.names[1]) {
      bytes[connection.purpose] += payload_of(run, connection);
    }
  }
  return bytes[traffic::Purpose::Collectives] < kMostOfCollectives * bytes[traffic::Purpose::Rpc];
}

}  // namespace

double Phases::waiting_ms() const { return std::reduce(late_ms.begin(), late_ms.end()); }

Phases phases_of(const RunData& run, const Clocks& clocks, const StepLine& steps) {
  Phases phases{.late_ms = std::vector<double>(run.nodes.size(), 0)};
  if (steps.settled.empty()) {
    return phases;
  }
  const Spans inside = united(steps.settled);
  phases.step_ms = per_step_ms(static_cast<double>(length_ns(steps.settled)), steps);
  Exchanges exchanges = exchanges_of(run, clocks);
  if (!common_to(unreported_arrivals(run, clocks), inside).empty()) {
    exchanges = Exchanges(run.nodes.size());  // their begin is not known: unreported
  } else if (is_by_calls(run)) {
    exchanges = Exchanges(run.nodes.size());
  }
  if (is_any(exchanges)) {
    phases.source = PhaseSource::Library;
    phases.by_messages = is_mostly_messages(exchanges);
    const std::vector<Meeting> meetings = meetings_of(exchanges);
    phases.worked = main_worked(
        {.run = run, .clocks = clocks, .exchanges = exchanges, .steps = steps.settled, .count = 1});
    Waiting waiting = waiting_of(run, clocks, exchanges, meetings, steps, phases.worked);
    phases.unattributed = unattributed_wait_of(run, exchanges, meetings, waiting, steps);
    phases.late = std::move(waiting.late);
    phases.ranks = std::move(waiting.ranks);
    Spans communication = communication_of(exchanges, meetings, phases.late);
    std::ranges::move(waiting.held, std::back_inserter(communication));
    phases.communicating = common_to(united(std::move(communication)), inside);
  } else if (is_alone(run)) {
    phases.source = PhaseSource::Alone;
  } else {
    const Activity activity = activity_of(run, clocks);
    phases.source = activity.source;
    phases.late = late_by_first_bytes(run, clocks, inside);
    phases.ranks = senders_seen(run);
    for (const Late& late : phases.late) {
      add_late(late, per_step_ms(late.lost_ns, steps), phases.ranks);
    }
    phases.communicating = common_to(activity.spans, inside);
  }
  const double communicating_ms =
      per_step_ms(static_cast<double>(length_ns(phases.communicating)), steps);
  fit_into(std::max(0.0, phases.step_ms - communicating_ms), phases.ranks);
  for (const RankLateness& rank : phases.ranks) {
    phases.late_ms[rank.node] += rank.late_ms;
  }
  const double alone_ms = phases.step_ms - communicating_ms - phases.waiting_ms();
  const OverlapInput overlap{.run = run,
                             .clocks = clocks,
                             .exchanges = exchanges,
                             .steps = steps.settled,
                             .alone_ms = alone_ms,
                             .count = static_cast<double>(steps.settled.size())};
  const double late_ms = std::reduce(phases.late_ms.begin(), phases.late_ms.end());
  phases.unattributed.ms = std::clamp(phases.unattributed.ms - late_ms, 0.0, communicating_ms);
  if (phases.unattributed.ms < kMinUnattributed * phases.step_ms) {
    phases.unattributed = {};
  }
  phases.hidden_ms = std::clamp(hidden_ms(overlap), 0.0, communicating_ms - phases.unattributed.ms);
  phases.exchange_work_ms = std::min(exchange_work_ms(overlap), communicating_ms);
  phases.exposed_ms = communicating_ms - phases.hidden_ms - phases.unattributed.ms;
  phases.computing_ms =
      phases.step_ms - phases.exposed_ms - phases.waiting_ms() - phases.unattributed.ms;
  return phases;
}

}  // namespace chokepoint::analysis
