#include "analysis/replay/graph.h"

#include <algorithm>
#include <map>
#include <span>
#include <tuple>
#include <utility>

#include "analysis/phases/overlap.h"
#include "analysis/replay/buckets.h"
#include "analysis/replay/graph_builder.h"
#include "analysis/replay/messages.h"
#include "base/math/statistics.h"
#include "base/math/training_pass.h"

namespace chokepoint::analysis {
namespace {

// Judgements; docs/internals/replay.md shows how often replays with them are right.
constexpr double kMaxPaceRatio = 2;  // computing that goes on unseen, to what overlap.h expects
constexpr double kMinBytesOfSeveral = 1.9;  // times the usual message's: the row holds several
// Of all messages' bytes, in rows of several: else no replay.
constexpr double kMaxMergedShare = 0.1;

// How much of the computing that the model of overlap.h expects behind exchanges there is, by what
// the processors worked or the phases have it.
double pace_factor(const GraphInput& input, const std::vector<std::vector<Line>>& lines) {
  double most_ns = 0;
  for (const auto& of_list : lines) {
    for (const Line& line : of_list) {
      double hidden_ns = 0;
      for (const Burst& burst : line.bursts) {
        const std::int64_t at_ns = line.gaps[burst.first].exchange->own_ready_ns;
        hidden_ns += covers(input.steps.settled, at_ns) ? burst.hidden_ns : 0;
      }
      most_ns = std::max(most_ns, hidden_ns);
    }
  }
  const auto count = static_cast<double>(input.steps.settled.size());
  const double known_ns = input.phases.hidden_ms * 1e6 * count;
  return most_ns > 0 ? std::clamp(known_ns / most_ns, 0.0, kMaxPaceRatio) : 0;
}

class LineBuilder {
 public:
  LineBuilder(GraphBuilder& builder, std::size_t list, const LateBy& late, double pace_factor)
      : builder_(builder), list_(list), late_(late), pace_factor_(pace_factor) {}

  void add(const Line& line, BucketPlan& buckets) {
    for (std::size_t place = 0; place < line.gaps.size();) {
      const BucketPlan::Pass* pass = buckets.at(list_, place);
      if (pass != nullptr && !running_.empty()) {
        add_pass(line, *pass, buckets);
        place += pass->count;
      } else {
        add_one(line, place);
        ++place;
      }
    }
  }

 private:
  Part part_of(const StageGap& gap) const {
    const Exchange* const first = builder_.input().exchanges[list_].data();
    return {list_, static_cast<std::size_t>(gap.exchange - first)};
  }

  void add_one(const Line& line, std::size_t place) {
    if (line.gaps[place].queued) {
      add_queued(line.gaps[place]);
    } else {
      add_first(line, place);
    }
  }

  void add_pass(const Line& line, const BucketPlan::Pass& pass, BucketPlan& buckets) {
    const std::size_t over = builder_.add_last_of(running_);
    const auto gaps = std::span(line.gaps).subspan(pass.first, pass.count);
    std::int64_t ready_ns = gaps.front().exchange->own_ready_ns;
    const auto first_ns = static_cast<double>(ready_ns - builder_.t_ns(over));
    double bytes = 0;
    for (const StageGap& gap : gaps) {
      const auto pace_ns = static_cast<std::int64_t>(pace_factor_ * gap.pace_ns);
      ready_ns = gap.queued ? std::min(ready_ns + pace_ns, gap.exchange->own_ready_ns)
                            : gap.exchange->own_ready_ns;
      bytes += gap.exchange->bytes;
      builder_.drop(part_of(gap));
    }
    const auto computing_ns = static_cast<double>(ready_ns - builder_.t_ns(over));
    const double hidden_ns = computing_ns - first_ns;
    const double first_share = gaps.front().exchange->bytes / bytes;
    const double backward_ns = hidden_ns > 0 && first_share < 1
                                   ? hidden_ns / (1 - first_share)
                                   : math::kBackwardShare * computing_ns;
    // What was not hidden although it could have been stays so, unless the change is about that.
    const bool stays_behind = hidden_ns <= 0 && pass.count > 1 && !builder_.input().buckets.overlap;
    running_ =
        buckets.add(pass, over, std::max(computing_ns, 0.0),
                    stays_behind ? 0 : std::clamp(backward_ns, 0.0, std::max(computing_ns, 0.0)),
                    late_.at(part_of(gaps.front())));
    issued_ = running_.back();
  }

  void add_first(const Line& line, std::size_t place) {
    const Part part = part_of(line.gaps[place]);
    const std::size_t ready = builder_.ready_of(part);
    if (place > 0 && line.gaps[place - 1].unwaited && !line.gaps[place - 1].queued) {
      const Part before = part_of(line.gaps[place - 1]);
      builder_.add(ready, {.from = builder_.end_of(before)});
      builder_.add_since(ready, builder_.ready_of(before), Cost::Computing, late_.at(part));
    } else if (!running_.empty()) {
      const std::size_t over = builder_.add_last_of(running_);
      builder_.add_since(ready, over, Cost::Computing, late_.at(part));
      running_.clear();
    }
    issued_ = ready;
    running_.push_back(builder_.end_of(part));
  }

  // It is ready when the computing behind the burst has come so far, and begins when one before it
  // is over.
  void add_queued(const StageGap& gap) {
    const Part part = part_of(gap);
    const std::size_t ready = builder_.ready_of(part);
    const auto pace_ns = static_cast<std::int64_t>(pace_factor_ * gap.pace_ns);
    const std::int64_t issued_ns = builder_.t_ns(issued_) + pace_ns;
    const std::size_t issued =
        builder_.add_moment(list_, std::min(issued_ns, gap.exchange->own_ready_ns));
    builder_.add_since(issued, issued_, Cost::Computing);
    builder_.add(ready, {.from = issued});
    if (const std::size_t free = latest_over(gap.exchange->own_ready_ns); free != kNowhere) {
      builder_.add_since(ready, free, Cost::Overhead);
    }
    issued_ = issued;
    running_.push_back(builder_.end_of(part));
  }

  // Whose end made room for it. What a rank has sent may be over for it while the bytes wait in its
  // socket: what it announces next waits behind them, until another rank has them.
  std::size_t latest_over(std::int64_t t_ns) const {
    std::size_t latest = kNowhere;
    for (const std::size_t own : running_) {
      for (const std::size_t end : builder_.ends_with(own)) {
        const bool is_over = builder_.t_ns(end) <= t_ns;
        const bool is_later = latest == kNowhere || builder_.t_ns(end) > builder_.t_ns(latest);
        latest = is_over && is_later ? end : latest;
      }
    }
    return latest;
  }

  GraphBuilder& builder_;
  std::size_t list_;
  const LateBy& late_;
  double pace_factor_;
  std::size_t issued_ = 0;
  std::vector<std::size_t> running_ = {};  // ends since the rank last waited for all of them
};

// Of a rank that waits for whatever it began: one thing after the other.
void add_sequence(GraphBuilder& builder, std::size_t list, const LateBy& late) {
  std::vector<std::size_t> overs;  // when all up to each were over
  for (std::size_t place = 0; place < builder.input().exchanges[list].size(); ++place) {
    const Part part{list, place};
    const std::size_t ready = builder.ready_of(part);
    const auto before = std::find_if(overs.rbegin(), overs.rend(), [&](std::size_t over) {
      return builder.t_ns(over) <= builder.t_ns(ready);
    });
    if (before != overs.rend()) {
      builder.add_since(ready, *before, Cost::Computing, late.at(part));
    }
    const std::size_t end = builder.end_of(part);
    overs.push_back(overs.empty() ? end : builder.add_last_of({overs.back(), end}));
  }
}

bool has_messages(const std::vector<Exchange>& exchanges) {
  return std::ranges::any_of(exchanges, is_message);
}

// Share of the messages' bytes that is in rows of several messages: on a full link a sender's
// messages leave without a pause, and it is not recorded when each was ready.
double merged_share(const Exchanges& exchanges) {
  double merged = 0;
  double all = 0;
  for (const auto& of_rank : exchanges) {
    std::map<std::pair<std::int64_t, record::CollectiveKind>, std::vector<double>> sizes;
    for (const Exchange& own : of_rank) {
      if (is_message(own)) sizes[{own.connection, own.kind}].push_back(own.bytes);
    }
    for (const auto& [stream, bytes] : sizes) {
      const double usual = math::median(bytes).value_or(0);
      for (const double each : bytes) {
        merged += each > kMinBytesOfSeveral * usual ? each : 0;
        all += each;
      }
    }
  }
  return all > 0 ? merged / all : 0;
}

// False where other buckets are wanted, and no gradients were recognised.
bool add_ranks(GraphBuilder& builder, const LateBy& late, std::vector<bool>& replaced) {
  const GraphInput& input = builder.input();
  std::vector<std::vector<Line>> lines(input.exchanges.size());
  for (std::size_t list = 0; list < lines.size(); ++list) {
    if (!has_messages(input.exchanges[list])) {
      lines[list] = lines_of(input.exchanges[list]);
    }
    for (Line& line : lines[list]) {
      mark_unwaited(line, input.steps.settled,
                    worked_by(input.phases.worked, input.exchanges[list]));
    }
  }
  const double factor = pace_factor(input, lines);
  std::vector<Line> own;
  for (const auto& of_list : lines) {
    own.push_back(of_list.size() == 1 ? of_list.front() : Line{});
  }
  BucketPlan buckets(builder, own);
  if (input.buckets.is_cut && !buckets.covers_most_bytes()) {
    return false;
  }
  for (std::size_t list = 0; list < lines.size(); ++list) {
    if (!has_messages(input.exchanges[list])) {
      for (const Line& line : lines[list]) {
        LineBuilder(builder, list, late, factor).add(line, buckets);
      }
    } else if (announces_ahead(input.exchanges[list])) {
      add_stage(builder, list, late);
    } else {
      add_sequence(builder, list, late);
    }
  }
  buckets.finish();
  for (std::size_t meeting = 0; meeting < replaced.size(); ++meeting) {
    replaced[meeting] = buckets.is_replaced(meeting);
  }
  return true;
}

// A meeting's parts whose ranks had come when the part was over: of a broadcast, the root may leave
// before others come.
std::vector<Part> needed_by(const Exchanges& exchanges, const Meeting& meeting, Part part) {
  std::vector<Part> needed;
  for (const Part other : meeting) {
    if (at(exchanges, other).own_ready_ns <= at(exchanges, part).end_ns) {
      needed.push_back(other);
    }
  }
  return needed;
}

void add_collective(GraphBuilder& builder, const Meeting& meeting, std::size_t transfer) {
  const Exchanges& exchanges = builder.input().exchanges;
  for (const Part part : meeting) {
    const std::size_t end = builder.end_of(part);
    const std::vector<Part> needed = needed_by(exchanges, meeting, part);
    std::int64_t ready_ns = at(exchanges, part).own_ready_ns;
    for (const Part other : needed) {
      ready_ns = std::max(ready_ns, at(exchanges, other).own_ready_ns);
    }
    const std::int64_t took_ns = std::max<std::int64_t>(at(exchanges, part).end_ns - ready_ns, 0);
    for (const Part other : needed) {
      builder.add(end, {.from = builder.ready_of(other),
                        .cost = Cost::Transfer,
                        .ns = took_ns,
                        .transfer = transfer});
    }
  }
}

// Messages of one way, from one rank to another, in the order in which they were ready.
using MessageStreams =
    std::map<std::pair<std::size_t, std::size_t>, std::vector<std::pair<Part, Part>>>;

void add_messages(GraphBuilder& builder, MessageStreams streams) {
  const Exchanges& exchanges = builder.input().exchanges;
  for (auto& [stream, messages] : streams) {
    std::ranges::sort(messages, {}, [&](const auto& message) {
      return at(exchanges, message.first).own_ready_ns;
    });
    std::optional<Part> before;
    for (const auto& [sent, received] : messages) {
      add_message(builder, sent, received, before);
      before = received;
    }
  }
}

void add_exchanges(GraphBuilder& builder, const std::vector<bool>& replaced) {
  const Exchanges& exchanges = builder.input().exchanges;
  MessageStreams streams;
  for (std::size_t number = 0; number < builder.input().meetings.size(); ++number) {
    const Meeting& meeting = builder.input().meetings[number];
    const Exchange& first = at(exchanges, meeting.front());
    if (replaced[number] || std::ranges::none_of(meeting, [&](Part part) {
          return builder.is_inside(at(exchanges, part));
        })) {
      continue;
    }
    if (is_message(first) && meeting.size() == 2) {
      const bool is_sent = first.kind == record::CollectiveKind::Send;
      const Part sent = is_sent ? meeting.front() : meeting.back();
      const Part received = is_sent ? meeting.back() : meeting.front();
      streams[{sent.list, received.list}].emplace_back(sent, received);
    } else {
      add_collective(builder, meeting, builder.add_collective(meeting));
    }
  }
  add_messages(builder, std::move(streams));
}

}  // namespace

double crossings_of(const RankRing& ring) {
  std::map<std::size_t, double> of_nodes;
  double most = 0;
  for (std::size_t place = 0; place < ring.size(); ++place) {
    const std::size_t next = ring[(place + 1) % ring.size()].node;
    if (next != ring[place].node) {
      most = std::max(most, ++of_nodes[ring[place].node]);
    }
  }
  return most;
}

std::vector<std::size_t> last_moments(const RunGraph& graph, std::size_t steps,
                                      const std::vector<double>& times_ns) {
  std::vector<std::size_t> last(steps, kNowhere);
  for (std::size_t place = 0; place < graph.moments.size(); ++place) {
    const std::size_t step = graph.moments[place].step;
    if (step < steps && (last[step] == kNowhere || times_ns[place] > times_ns[last[step]])) {
      last[step] = place;
    }
  }
  return last;
}

std::optional<RunGraph> graph_of(const GraphInput& input) {
  if (input.steps.settled.empty() || merged_share(input.exchanges) > kMaxMergedShare) {
    return std::nullopt;
  }
  GraphBuilder builder(input);
  const LateBy late(input);
  std::vector<bool> replaced(input.meetings.size(), false);
  if (!add_ranks(builder, late, replaced)) {
    return std::nullopt;
  }
  add_exchanges(builder, replaced);
  return builder.finish();
}

}  // namespace chokepoint::analysis
