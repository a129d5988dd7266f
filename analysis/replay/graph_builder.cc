#include "analysis/replay/graph_builder.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <tuple>
#include <utility>

namespace chokepoint::analysis {

namespace {

// A judgement.
constexpr double kMinSizeRatio = 0.1;  // to an exchange: smaller ones hardly slow it down

// How many large exchanges between hosts were under way together, on average over each one's time.
void count_at_once(RunGraph& graph) {
  struct Under {
    Span span = {};
    std::size_t transfer = 0;
  };
  std::vector<Under> all;
  for (const GraphMoment& moment : graph.moments) {
    for (const Arc& arc : moment.arcs) {
      const bool is_first = all.empty() || all.back().transfer != arc.transfer;
      if (arc.cost == Cost::Transfer && is_first && arc.transfer != kNowhere) {
        const Transfer& own = graph.transfers[arc.transfer];
        const bool shares =
            own.is_between_hosts && own.took_ns > 0 && own.kind != record::CollectiveKind::Send;
        if (shares) all.push_back({{moment.t_ns - own.took_ns, moment.t_ns}, arc.transfer});
      }
    }
  }
  std::ranges::sort(all, {}, &Under::transfer);
  const auto same = std::ranges::unique(all, {}, &Under::transfer);
  all.erase(same.begin(), same.end());
  std::ranges::sort(all, {}, [](const Under& each) { return each.span.start_ns; });
  for (std::size_t one = 0; one < all.size(); ++one) {
    for (std::size_t other = one + 1;
         other < all.size() && all[other].span.start_ns < all[one].span.end_ns; ++other) {
      Transfer& a = graph.transfers[all[one].transfer];
      Transfer& b = graph.transfers[all[other].transfer];
      const std::int64_t both_ns =
          std::min(all[one].span.end_ns, all[other].span.end_ns) - all[other].span.start_ns;
      if (b.bytes >= kMinSizeRatio * a.bytes) {
        a.at_once += static_cast<double>(both_ns) / static_cast<double>(a.took_ns);
      }
      if (a.bytes >= kMinSizeRatio * b.bytes) {
        b.at_once += static_cast<double>(both_ns) / static_cast<double>(b.took_ns);
      }
    }
  }
}

}  // namespace

Transfer transfer_of(const Exchanges& exchanges, const Meeting& meeting) {
  const Exchange& first = at(exchanges, meeting.front());
  Transfer transfer{.source = first.source,
                    .kind = kind_at_both(first.kind),
                    .group = first.group,
                    .ranks = static_cast<double>(std::max<std::size_t>(meeting.size(), 2)),
                    .is_between_hosts = meeting.size() == 1};
  std::int64_t ready_ns = first.own_ready_ns;
  std::int64_t end_ns = first.end_ns;
  for (const Part part : meeting) {
    const Exchange& own = at(exchanges, part);
    transfer.bytes = std::max(transfer.bytes, own.bytes);
    transfer.is_between_hosts = transfer.is_between_hosts || own.node != first.node;
    ready_ns = std::max(ready_ns, own.own_ready_ns);
    end_ns = std::max(end_ns, own.end_ns);
  }
  transfer.took_ns = std::max<std::int64_t>(end_ns - ready_ns, 0);
  return transfer;
}

GraphBuilder::GraphBuilder(const GraphInput& input) : input_(input) {
  std::size_t count = 0;
  for (const auto& of_rank : input.exchanges) {
    const std::size_t list = base_.size();
    base_.push_back(count);
    count += of_rank.size();
    for (const Exchange& exchange : of_rank) {
      graph_.moments.push_back({.t_ns = exchange.own_ready_ns, .list = list});
      graph_.moments.push_back({.t_ns = exchange.end_ns, .list = list});
    }
    graph_.ranks.push_back(of_rank.empty() ? RankPlace{}
                                           : RankPlace{of_rank.front().rank, of_rank.front().node});
  }
  for (const Meeting& meeting : input.meetings) {
    for (const Part part : meeting) {
      std::vector<std::size_t>& ends = ends_with_[end_of(part)];
      std::ranges::transform(meeting, std::back_inserter(ends),
                             [&](Part other) { return end_of(other); });
    }
  }
}

std::vector<std::size_t> GraphBuilder::ends_with(std::size_t end) const {
  const auto found = ends_with_.find(end);
  return found == ends_with_.end() ? std::vector{end} : found->second;
}

bool GraphBuilder::is_inside(const Exchange& exchange) const {
  const Spans& steps = input_.steps.settled;
  return exchange.own_ready_ns >= steps.front().start_ns &&
         exchange.own_ready_ns < steps.back().end_ns;
}

void GraphBuilder::add_since(std::size_t to, std::size_t from, Cost cost, std::int64_t late_ns) {
  const std::int64_t ns = std::max<std::int64_t>(t_ns(to) - t_ns(from), 0);
  add(to, {.from = from, .cost = cost, .ns = ns, .late_ns = std::min(late_ns, ns)});
}

std::size_t GraphBuilder::add_moment(std::size_t list, std::int64_t t_ns) {
  graph_.moments.push_back({.t_ns = t_ns, .list = list});
  return graph_.moments.size() - 1;
}

std::size_t GraphBuilder::add_last_of(const std::vector<std::size_t>& moments) {
  std::int64_t last_ns = std::numeric_limits<std::int64_t>::min();
  for (const std::size_t moment : moments) {
    last_ns = std::max(last_ns, t_ns(moment));
  }
  const std::size_t last = add_moment(graph_.moments[moments.front()].list, last_ns);
  for (const std::size_t moment : moments) {
    add(last, {.from = moment});
  }
  return last;
}

std::size_t GraphBuilder::add_transfer(const Transfer& transfer) {
  graph_.transfers.push_back(transfer);
  return graph_.transfers.size() - 1;
}

std::size_t GraphBuilder::add_collective(const Meeting& meeting) {
  RankRing ring;
  for (const Part part : meeting) {
    const Exchange& own = at(input_.exchanges, part);
    ring.push_back({own.rank, own.node});
  }
  std::ranges::sort(ring);
  Transfer transfer = transfer_of(input_.exchanges, meeting);
  transfer.crossings = std::max(1.0, crossings_of(ring));
  transfer.ring = places_of_rings_.try_emplace(ring, graph_.rings.size()).first->second;
  if (transfer.ring == graph_.rings.size()) graph_.rings.push_back(std::move(ring));
  return add_transfer(transfer);
}

void GraphBuilder::note_steps() {
  const Spans& steps = input_.steps.settled;
  for (GraphMoment& moment : graph_.moments) {
    // What comes as one step ends and the next begins is of the one that ends.
    const auto after = std::ranges::lower_bound(steps, moment.t_ns, {}, &Span::start_ns);
    if (after != steps.begin() && moment.t_ns <= std::prev(after)->end_ns) {
      moment.step = static_cast<std::size_t>(std::prev(after) - steps.begin());
    }
  }
}

void GraphBuilder::drop(Part part) {
  for (const std::size_t moment : {ready_of(part), end_of(part)}) {
    graph_.moments[moment] = {.t_ns = std::numeric_limits<std::int64_t>::min(), .list = part.list};
  }
}

std::optional<RunGraph> GraphBuilder::finish() {
  if (graph_.transfers.empty()) {
    return std::nullopt;
  }
  note_steps();
  std::vector<std::size_t> lacks(graph_.moments.size(), 0);
  std::vector<std::vector<std::size_t>> next(graph_.moments.size());
  for (std::size_t moment = 0; moment < graph_.moments.size(); ++moment) {
    for (const Arc& arc : graph_.moments[moment].arcs) {
      ++lacks[moment];
      next[arc.from].push_back(moment);
    }
    if (lacks[moment] == 0) {
      graph_.order.push_back(moment);
    }
  }
  for (std::size_t place = 0; place < graph_.order.size(); ++place) {
    for (const std::size_t later : next[graph_.order[place]]) {
      if (--lacks[later] == 0) {
        graph_.order.push_back(later);
      }
    }
  }
  if (graph_.order.size() != graph_.moments.size()) {
    return std::nullopt;
  }
  count_at_once(graph_);
  return std::move(graph_);
}

LateBy::LateBy(const GraphInput& input) {
  std::map<std::tuple<std::size_t, std::int64_t, std::int64_t>, std::int64_t> of_messages;
  for (const auto& of_rank : input.exchanges) {
    ns_.emplace_back(of_rank.size(), 0);
  }
  for (const Late& late : input.phases.late) {
    const auto lost_ns = static_cast<std::int64_t>(late.lost_ns);
    if (!late.meeting || *late.meeting >= input.meetings.size()) {
      of_messages[{late.node, late.rank, late.waited.end_ns}] = lost_ns;
      continue;
    }
    for (const Part part : input.meetings[*late.meeting]) {
      const Exchange& own = analysis::at(input.exchanges, part);
      if (own.node == late.node && own.rank == late.rank) {
        ns_[part.list][part.place] = lost_ns;
      }
    }
  }
  for (std::size_t list = 0; list < ns_.size(); ++list) {
    for (std::size_t place = 0; place < ns_[list].size(); ++place) {
      const Exchange& own = input.exchanges[list][place];
      const auto found = of_messages.find({own.node, own.rank, own.own_ready_ns});
      if (own.kind == record::CollectiveKind::Send && found != of_messages.end()) {
        ns_[list][place] = found->second;
      }
    }
  }
}

std::int64_t LateBy::at(Part part) const { return ns_[part.list][part.place]; }

}  // namespace chokepoint::analysis
