#include "analysis/phases/lateness.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "analysis/phases/activity.h"
#include "analysis/phases/other_stages.h"
#include "analysis/phases/overlap.h"
#include "analysis/phases/pipeline.h"
#include "base/math/statistics.h"

namespace chokepoint::analysis {
namespace {

using record::CollectiveKind;

// By connection: at a pipeline's turn, or when it begins again, a stage computes for both
// directions.
std::map<std::int64_t, double> allowed_ns(const UsualComputes& usual) {
  std::map<std::int64_t, double> sums_ns;
  for (const auto& [path, ns] : usual) {
    sums_ns[std::get<0>(path)] += ns;
  }
  return sums_ns;
}

// The other end of a message.
struct OtherEnd {
  const Exchange* exchange = nullptr;
  std::size_t meeting = 0;
};

// By what was sent.
std::map<const Exchange*, OtherEnd> receivers_of(const Exchanges& exchanges,
                                                 std::span<const Meeting> meetings) {
  std::map<const Exchange*, OtherEnd> receivers;
  for (std::size_t number = 0; number < meetings.size(); ++number) {
    const Meeting& meeting = meetings[number];
    if (meeting.size() == 2 && is_message(at(exchanges, meeting.front()))) {
      const Exchange& one = at(exchanges, meeting.front());
      const Exchange& other = at(exchanges, meeting.back());
      const bool is_sender_first = one.kind == CollectiveKind::Send;
      receivers[is_sender_first ? &one : &other] = {is_sender_first ? &other : &one, number};
    }
  }
  return receivers;
}

// A stage that has sent on all that it received has nothing to compute until it receives again. If
// it only then takes what was sent to it, it did something else meanwhile, such as to load its
// data.
void add_idle_receivers(const std::vector<Exchange>& of_rank,
                        const std::map<const Exchange*, OtherEnd>& sent_to,
                        std::vector<Late>& late) {
  std::int64_t open = 0;  // received and not sent on
  bool has_sent = false;
  std::int64_t last_ns = 0;
  for (const Exchange& own : of_rank) {
    const auto sent = sent_to.find(&own);
    if (own.kind == CollectiveKind::Receive && open == 0 && has_sent && own.is_ready_known &&
        sent != sent_to.end() && sent->second.exchange->is_ready_known) {
      const Exchange& sender = *sent->second.exchange;
      const Span waited{std::max(sender.own_ready_ns + sender.one_way_ns, last_ns),
                        own.own_ready_ns};
      if (waited.length_ns() > 0) {
        late.push_back({.node = own.node,
                        .rank = own.rank,
                        .waited = waited,
                        .lost_ns = static_cast<double>(waited.length_ns()),
                        .meeting = sent->second.meeting});
      }
    }
    open += own.kind == CollectiveKind::Receive ? 1 : own.kind == CollectiveKind::Send ? -1 : 0;
    has_sent = has_sent || own.kind == CollectiveKind::Send;
    last_ns = std::max(last_ns, own.end_ns);
  }
}

std::vector<std::vector<StageCompute>> all_computes(const Exchanges& exchanges) {
  std::vector<std::vector<StageCompute>> computes;
  for (const auto& of_node : exchanges) {
    computes.push_back(computes_of(of_node));
  }
  return computes;
}

using GapOf = std::map<const Exchange*, const StageGap*>;

GapOf gaps_of(const std::vector<Line>& lines) {
  GapOf gaps;
  for (const Line& line : lines) {
    for (const StageGap& gap : line.gaps) {
      gaps[gap.exchange] = &gap;
    }
  }
  return gaps;
}

// When each rank waited in a message and computed nothing, whichever end was late. If it began
// another exchange meanwhile it did not wait, but went on computing.
std::map<RankId, Spans> standing_in_messages(const Exchanges& exchanges) {
  std::map<RankId, Spans> standing;
  for (const auto& of_rank : exchanges) {
    for (std::size_t place = 0; place < of_rank.size(); ++place) {
      const Exchange& own = of_rank[place];
      if (!is_message(own)) {
        continue;
      }
      const auto after = std::ranges::upper_bound(of_rank, own.end_ns, {}, &Exchange::own_ready_ns);
      const std::int64_t since_ns = std::prev(after)->own_ready_ns;
      standing[{own.node, own.rank}].push_back({std::max(since_ns, own.own_ready_ns), own.end_ns});
    }
  }
  for (auto& [rank, spans] : standing) {
    spans = united(std::move(spans));
  }
  return standing;
}

class Computing {
 public:
  explicit Computing(const Exchanges& exchanges, const GapOf& gaps)
      : gaps_(gaps), standing_(standing_in_messages(exchanges)) {}

  const StageGap& gap(const Exchange& exchange) const { return *gaps_.at(&exchange); }

  // What the rank computed before it came.
  double before_ns(const Exchange& exchange) const {
    const std::int64_t gap_ns = gap(exchange).gap_ns;
    const auto standing = standing_.find({exchange.node, exchange.rank});
    const std::int64_t stood_ns =
        standing == standing_.end()
            ? 0
            : covered_ns(standing->second, {exchange.own_ready_ns - gap_ns, exchange.own_ready_ns});
    return static_cast<double>(gap_ns - stood_ns);
  }

 private:
  const GapOf& gaps_;
  std::map<RankId, Spans> standing_;
};

// By how much the late rank computed longer than the one that waits: a rank that left the last
// collective later also arrives later, through no fault of its own. The rank that waits may have
// been queueing, and then went on computing meanwhile.
double lost_ns(const Exchange& waiting, const Exchange& late, const Computing& computing,
               double waited_ns) {
  const StageGap& gap = computing.gap(waiting);
  const double own_ns = gap.queued ? gap.pace_ns : computing.before_ns(waiting);
  return std::clamp(computing.before_ns(late) - own_ns, 0.0, std::max(waited_ns, 0.0));
}

// Two arrivals this close have no order: clocks differ, data take time.
constexpr std::int64_t kMaxSameArrivalNs = 10'000'000;

void add_collective(const Exchanges& exchanges, std::span<const Meeting> meetings,
                    std::size_t number, const Computing& computing, std::vector<Late>& late) {
  std::vector<const Exchange*> in_order;
  std::int64_t unknown_by_ns = 0;  // by then those had come of whom it is not known when
  for (const Part part : meetings[number]) {
    const Exchange& own = at(exchanges, part);
    if (own.is_ready_known) {
      in_order.push_back(&own);
    } else {
      unknown_by_ns = std::max(unknown_by_ns, own.latest_ready_ns);
    }
  }
  std::ranges::sort(in_order, {}, &Exchange::own_ready_ns);
  if (in_order.size() < 2 || unknown_by_ns > in_order.back()->own_ready_ns + kMaxSameArrivalNs) {
    return;  // one of those may have been the last
  }
  const Exchange& last = *in_order.back();
  const Exchange& before = *in_order[in_order.size() - 2];
  const Span waited{before.own_ready_ns + std::max(before.one_way_ns, last.one_way_ns),
                    last.own_ready_ns};
  const double lost = lost_ns(before, last, computing, static_cast<double>(waited.length_ns()));
  if (lost > 0 && !computing.gap(before).unwaited) {
    late.push_back({.node = last.node,
                    .rank = last.rank,
                    .waited = waited,
                    .lost_ns = lost,
                    .meeting = number});
  }
}

constexpr std::int64_t kMinQuietNs = 25'000'000;  // of all nodes, between two rounds
constexpr std::int64_t kMinBulkBytes = 16'000;    // of a bin: more is data, not an announcement
constexpr std::int64_t kMinBlurs = 3;  // times the blur of the moments; less is not lateness

struct Sending {
  std::size_t node = 0;
  std::int64_t rank = -1;  // -1: not known
  std::size_t sender = 0;  // a number of the two
  std::int64_t t_ns = 0;
  std::int64_t blur_ns = 0;  // it may have been earlier by this
  std::int64_t bytes = 0;
};

// `sender`: what is known of it.
void add_packets(const std::vector<record::FlowSample>& samples, const Sending& sender,
                 const Clocks& clocks, std::vector<Sending>& sendings) {
  for (const record::FlowSample& sample : samples) {
    if (sample.payload_bytes.value_or(0) > 0) {
      sendings.push_back({.node = sender.node,
                          .rank = sender.rank,
                          .sender = sender.sender,
                          .t_ns = clocks.common_ns(sender.node, sample.t_ns),
                          .blur_ns = sample.bin_ns,
                          .bytes = sample.payload_bytes.value()});
    }
  }
}

void add_readings(const std::vector<record::SocketSample>& samples, const Sending& sender,
                  const Clocks& clocks, std::vector<Sending>& sendings) {
  for (std::size_t place = 1; place < samples.size(); ++place) {
    const record::SocketSample& before = samples[place - 1];
    const std::int64_t bytes =
        samples[place].bytes_sent.value_or(0) - before.bytes_sent.value_or(0);
    if (before.bytes_sent.known() && bytes > 0) {
      sendings.push_back({.node = sender.node,
                          .rank = sender.rank,
                          .sender = sender.sender,
                          .t_ns = clocks.common_ns(sender.node, samples[place].t_ns),
                          .blur_ns = samples[place].t_ns - before.t_ns,
                          .bytes = bytes});
    }
  }
}

struct Sendings {
  std::vector<Sending> all = {};  // in order of time
  std::size_t senders = 0;
};

// What each rank sent, by its own node's record.
Sendings sendings_of(const RunData& run, const Clocks& clocks) {
  std::vector<Sending> sendings;
  std::map<std::pair<std::size_t, std::int64_t>, std::size_t> senders;
  for (const Connection& connection : run.exchanging()) {
    for (const std::size_t side : {0U, 1U}) {
      const auto& end = connection.ends.at(side);
      const std::optional<std::int64_t> rank = sender_rank(run, connection, side);
      if (!rank) {
        continue;
      }
      Sending sender{.node = end->node, .rank = *rank};
      sender.sender = senders.try_emplace({sender.node, sender.rank}, senders.size()).first->second;
      // What a host sends whose packets were captured elsewhere.
      const auto& other = connection.ends.at(1 - side);
      const FlowData& flow = run.flow(run.nodes[end->node].is_inferred && other ? *other : *end);
      if (flow.packets.at(side).empty()) {
        add_readings(flow.sockets.at(side), sender, clocks, sendings);
      } else {
        add_packets(flow.packets.at(side), sender, clocks, sendings);
      }
    }
  }
  std::ranges::sort(sendings, {}, &Sending::t_ns);
  return {std::move(sendings), senders.size()};
}

class Rounds {
 public:
  Rounds(const Sendings& sendings, const Spans& steps)
      : steps_(steps), takes_part_(sendings.senders, false), came_(sendings.senders) {
    for (const Sending& sending : sendings.all) {
      takes_part_[sending.sender] = true;
    }
  }

  void take(const Sending& sending) {
    if (is_complete() && sending.t_ns - last_ns_ > kMinQuietNs) {
      close();
    }
    if (!came_[sending.sender]) {
      came_[sending.sender] = &sending;
    }
    if (bulk_ns_ == kNever && sending.bytes > kMinBulkBytes) {
      bulk_ns_ = sending.t_ns;
    }
    last_ns_ = sending.t_ns;
  }

  void close() {
    std::vector<const Sending*> in_order;
    for (const Sending* came : came_) {
      if (came != nullptr) {
        in_order.push_back(came);
      }
    }
    std::ranges::sort(in_order, {}, [](const Sending* came) { return came->t_ns; });
    if (is_complete() && in_order.size() > 1) {
      judge(*in_order[in_order.size() - 2], *in_order.back());
    }
    std::ranges::fill(came_, nullptr);
    bulk_ns_ = kNever;
  }

  std::vector<Late> late = {};

 private:
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

  bool is_complete() const {
    for (std::size_t sender = 0; sender < came_.size(); ++sender) {
      if (takes_part_[sender] && came_[sender] == nullptr) {
        return false;
      }
    }
    return true;
  }

  void judge(const Sending& before, const Sending& last) {
    const std::int64_t blur_ns = std::max(before.blur_ns, last.blur_ns);
    const bool has_waited_for_all = bulk_ns_ >= last.t_ns - blur_ns;
    if (!has_waited_for_all || !covers(steps_, last.t_ns)) {
      return;
    }
    const Span waited{before.t_ns, last.t_ns};
    if (waited.length_ns() / kMinBlurs > blur_ns) {
      late.push_back({.node = last.node,
                      .rank = last.rank,
                      .waited = waited,
                      .lost_ns = static_cast<double>(waited.length_ns())});
    }
  }

  const Spans& steps_;
  std::vector<bool> takes_part_;
  std::vector<const Sending*> came_;  // of each sender the first sending of this round
  std::int64_t bulk_ns_ = kNever;
  std::int64_t last_ns_ = 0;
};

}  // namespace

std::vector<Late> late_senders(const Exchanges& exchanges, std::span<const Meeting> meetings,
                               const Spans& steps) {
  const std::vector<std::vector<StageCompute>> computes = all_computes(exchanges);
  const UsualComputes usual = usual_computes(computes);
  const std::map<std::int64_t, double> allowed = allowed_ns(usual);
  const std::vector<PipelineEnds> pipelines = pipelines_in(exchanges, steps);
  const OtherStages others(computes, usual, pipelines);
  const auto receivers = receivers_of(exchanges, meetings);
  std::vector<Late> late;
  for (std::size_t stage = 0; stage < computes.size(); ++stage) {
    for (const StageCompute& compute : computes[stage]) {
      const auto receiver = receivers.find(compute.sent);
      if (receiver == receivers.end()) {
        continue;
      }
      const std::int64_t sent_ns = compute.sent->own_ready_ns;
      const double of_stage_ns = allowed.at(compute.sent->connection);
      const double of_others_ns = others.allowed_ns(stage, compute).value_or(of_stage_ns);
      const double excess_ns = compute.ns - std::min(of_stage_ns, of_others_ns);
      const double waited_ns =
          static_cast<double>(sent_ns - receiver->second.exchange->own_ready_ns);
      const double lost_ns = std::min(excess_ns, waited_ns);
      if (lost_ns > 0) {
        late.push_back({.node = compute.sent->node,
                        .rank = compute.sent->rank,
                        .waited = {sent_ns - static_cast<std::int64_t>(lost_ns), sent_ns},
                        .lost_ns = lost_ns,
                        .meeting = receiver->second.meeting});
      }
    }
  }
  std::map<const Exchange*, OtherEnd> sent_to;
  for (const auto& [sent, receiver] : receivers) {
    sent_to[receiver.exchange] = {sent, receiver.meeting};
  }
  for (const auto& of_rank : exchanges) {
    add_idle_receivers(of_rank, sent_to, late);
  }
  return late;
}

std::vector<Late> late_arrivals(const Exchanges& exchanges, std::span<const Meeting> meetings,
                                const Spans& steps, const Worked& worked) {
  std::vector<Line> lines;
  for (const auto& of_node : exchanges) {
    for (Line& line : lines_of(of_node)) {
      lines.push_back(std::move(line));
      mark_unwaited(lines.back(), steps, worked_by(worked, of_node));
    }
  }
  const GapOf gaps = gaps_of(lines);
  const Computing computing(exchanges, gaps);
  std::vector<Late> late = late_senders(exchanges, meetings, steps);
  for (std::size_t number = 0; number < meetings.size(); ++number) {
    const Meeting& meeting = meetings[number];
    if (meeting.size() > 1 && !is_message(at(exchanges, meeting.front()))) {
      add_collective(exchanges, meetings, number, computing, late);
    }
  }
  return late;
}

std::vector<Late> late_by_first_bytes(const RunData& run, const Clocks& clocks,
                                      const Spans& steps) {
  const Sendings sendings = sendings_of(run, clocks);
  Rounds rounds(sendings, steps);
  for (const Sending& sending : sendings.all) {
    rounds.take(sending);
  }
  rounds.close();
  return std::move(rounds.late);
}

}  // namespace chokepoint::analysis
