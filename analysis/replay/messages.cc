#include "analysis/replay/messages.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "analysis/phases/pipeline.h"
#include "base/math/statistics.h"
#include "base/math/training_pass.h"

namespace chokepoint::analysis {
namespace {

using record::CollectiveKind;

// Judgements; docs/internals/replay.md shows how often replays with them are right.
// Share of messages: a blocking job's, by errors of clocks.
constexpr double kMaxOverlapByClockError = 0.1;
constexpr double kUndisturbedGapQuantile = 0.1;  // of gaps: the stage was not disturbed in these

// A message of the rank in the order in which it bears on its computing: a send when it is ready,
// a receive when it is over.
struct Turn {
  std::int64_t t_ns = 0;
  std::size_t place = 0;
};

std::vector<Turn> turns_of(const std::vector<Exchange>& exchanges) {
  std::vector<Turn> turns;
  for (std::size_t place = 0; place < exchanges.size(); ++place) {
    const Exchange& own = exchanges[place];
    const bool is_received = own.kind == CollectiveKind::Receive;
    turns.push_back({is_received ? own.end_ns : own.own_ready_ns, place});
  }
  std::ranges::sort(turns, {}, &Turn::t_ns);
  return turns;
}

// Where in the pipeline a stage is, by what its messages are in each step.
struct Role {
  bool is_between = false;  // it has two neighbours
  bool sends_first = false;
  bool returns_each = false;  // of the last stage: it turns each micro-batch round at once
};

Role role_of(const std::vector<Exchange>& exchanges, const Spans& steps) {
  Role role;
  std::map<std::int64_t, std::size_t> connections;
  for (const Exchange& own : exchanges) {
    if (is_message(own)) ++connections[own.connection];
  }
  role.is_between = connections.size() > 1;
  std::size_t first = 0;
  std::size_t each = 0;
  std::size_t whole = 0;
  for (const Span& step : steps) {
    std::array<std::int64_t, 2> sent{INT64_MAX, INT64_MAX};  // the first one's ready, end
    std::int64_t first_received_ns = INT64_MAX;
    std::int64_t last_received_ns = INT64_MIN;
    for (const Exchange& own : exchanges) {
      if (own.end_ns < step.start_ns || own.end_ns >= step.end_ns) continue;
      if (own.kind == CollectiveKind::Send) {
        sent[0] = std::min(sent[0], own.own_ready_ns);
      } else if (own.kind == CollectiveKind::Receive) {
        first_received_ns = std::min(first_received_ns, own.end_ns);
        last_received_ns = std::max(last_received_ns, own.end_ns);
      }
    }
    whole += sent[0] != INT64_MAX && first_received_ns != INT64_MAX ? 1 : 0;
    first += sent[0] < first_received_ns ? 1 : 0;
    each += sent[0] != INT64_MAX && sent[0] < last_received_ns ? 1 : 0;
  }
  role.sends_first = first * 2 > steps.size();
  role.returns_each = !role.sends_first && whole > 0 && each * 2 > whole;
  return role;
}

class Stage {
 public:
  Stage(GraphBuilder& builder, std::size_t list, const LateBy& late)
      : builder_(builder),
        list_(list),
        late_(late),
        exchanges_(builder.input().exchanges[list]),
        role_(role_of(exchanges_, builder.input().steps.settled)),
        silent_ns_(silent_compute_ns()) {}

  void add() {
    for (const Turn& turn : turns_of(exchanges_)) {
      const Exchange& own = exchanges_[turn.place];
      if (own.kind == CollectiveKind::Send) {
        add_sent(turn.place);
      } else if (own.kind == CollectiveKind::Receive) {
        add_received(turn.place);
      } else {
        add_collective(turn.place);
      }
    }
    announce();
  }

 private:
  Part part(std::size_t place) const { return {list_, place}; }

  void add_sent(std::size_t place) {
    const std::size_t ready = builder_.ready_of(part(place));
    std::vector<std::size_t> after;
    if (done_ != kNowhere) after.push_back(done_);
    if (const std::size_t needed = needed_by(exchanges_[place]); needed != kNowhere) {
      after.push_back(needed);
    }
    if (!after.empty()) {
      const std::size_t last = builder_.add_last_of(after);
      builder_.add_since(ready, last, Cost::Computing, late_.at(part(place)));
    }
    done(ready);
  }

  // What a stage between others has received with this number from the other side; else, as what
  // turns each round, the last thing received.
  std::size_t needed_by(const Exchange& sent) const {
    const auto of_number = received_.find(sent.number);
    if (of_number != received_.end()) {
      for (const auto& [connection, end] : of_number->second) {
        if ((connection != sent.connection) == role_.is_between) return end;
      }
    }
    return last_received_;
  }

  void add_received(std::size_t place) {
    const Exchange& own = exchanges_[place];
    const std::size_t end = builder_.end_of(part(place));
    if (role_.is_between || role_.returns_each) {
      received_[own.number][own.connection] = end;
      last_received_ = end;
      return;
    }
    const std::size_t last = done_ == kNowhere ? end : builder_.add_last_of({done_, end});
    const std::size_t computed = builder_.add_moment(list_, builder_.t_ns(last) + silent_ns_);
    builder_.add(computed, {.from = last, .cost = Cost::Computing, .ns = silent_ns_});
    done(computed);
  }

  void add_collective(std::size_t place) {
    if (done_ != kNowhere) {
      builder_.add_since(builder_.ready_of(part(place)), done_, Cost::Computing,
                         late_.at(part(place)));
    }
    done(builder_.end_of(part(place)));
  }

  void done(std::size_t moment) {
    done_ = moment;
    all_done_.push_back(moment);
  }

  // It announces what it will receive when the computing before is done.
  void announce() {
    std::ranges::sort(all_done_, {}, [&](std::size_t moment) { return builder_.t_ns(moment); });
    for (std::size_t place = 0; place < exchanges_.size(); ++place) {
      if (exchanges_[place].kind != CollectiveKind::Receive) continue;
      const std::size_t ready = builder_.ready_of(part(place));
      const auto after =
          std::ranges::upper_bound(all_done_, builder_.t_ns(ready), {},
                                   [&](std::size_t moment) { return builder_.t_ns(moment); });
      if (after != all_done_.begin()) {
        builder_.add_since(ready, *std::prev(after), Cost::Computing);
      }
    }
  }

  // Of a micro-batch that no message follows.
  std::int64_t silent_compute_ns() const {
    std::vector<double> seen;  // between two sends that follow each other
    std::vector<double> gaps;  // from the last thing received to the next send
    const Exchange* before = nullptr;
    for (const Turn& turn : turns_of(exchanges_)) {
      const Exchange& own = exchanges_[turn.place];
      if (before != nullptr && own.kind == CollectiveKind::Send) {
        const bool is_sent = before->kind == CollectiveKind::Send;
        const std::int64_t since_ns = is_sent ? before->own_ready_ns : before->end_ns;
        (is_sent ? seen : gaps).push_back(static_cast<double>(own.own_ready_ns - since_ns));
      }
      before = &own;
    }
    const double usual_ns = math::median(seen).value_or(0);
    if (usual_ns <= 0) return forward_only_ns();
    const double wanted_ns = role_.sends_first ? math::kBackwardPerForward * usual_ns
                                               : usual_ns / math::kBackwardPerForward;
    const double most_ns =
        math::quantile(gaps, kUndisturbedGapQuantile).value_or(wanted_ns + usual_ns) - usual_ns;
    return static_cast<std::int64_t>(std::clamp(wanted_ns, 0.0, std::max(most_ns, 0.0)));
  }

  // A last stage that only receives computes as long for a batch as the others.
  std::int64_t forward_only_ns() const {
    const auto view = pipeline_of(builder_.input().exchanges, builder_.input().steps.settled);
    return view ? static_cast<std::int64_t>(view->batch_compute_ns) : 0;
  }

  GraphBuilder& builder_;
  std::size_t list_;
  const LateBy& late_;
  const std::vector<Exchange>& exchanges_;
  Role role_;
  std::int64_t silent_ns_;
  std::size_t done_ = kNowhere;           // its latest computing
  std::size_t last_received_ = kNowhere;  // of what a send follows
  std::vector<std::size_t> all_done_ = {};
  std::map<std::int64_t, std::map<std::int64_t, std::size_t>> received_ = {};  // number, connection
};

}  // namespace

bool announces_ahead(const std::vector<Exchange>& exchanges) {
  std::size_t messages = 0;
  std::size_t ahead = 0;
  std::int64_t over_ns = INT64_MIN;
  for (const Exchange& own : exchanges) {
    messages += is_message(own) ? 1 : 0;
    ahead += is_message(own) && own.own_ready_ns < over_ns ? 1 : 0;
    over_ns = std::max(over_ns, own.end_ns);
  }
  return static_cast<double>(ahead) > kMaxOverlapByClockError * static_cast<double>(messages);
}

void add_stage(GraphBuilder& builder, std::size_t list, const LateBy& late) {
  Stage(builder, list, late).add();
}

void add_message(GraphBuilder& builder, Part sent, Part received, std::optional<Part> before) {
  const Exchange& from = at(builder.input().exchanges, sent);
  const Exchange& to = at(builder.input().exchanges, received);
  const std::int64_t one_way_ns = std::max(from.one_way_ns, to.one_way_ns);
  // The sender's announcement passes the path once, the receiver's reply and the data twice.
  std::int64_t begin_ns =
      std::max(from.own_ready_ns + one_way_ns, to.own_ready_ns + 2 * one_way_ns);
  if (before) {
    begin_ns = std::max(begin_ns, at(builder.input().exchanges, *before).end_ns);
  }
  begin_ns = std::min(begin_ns, to.end_ns);
  const std::size_t begin = builder.add_moment(sent.list, begin_ns);
  builder.add(begin, {.from = builder.ready_of(sent), .cost = Cost::Propagation, .ns = one_way_ns});
  builder.add(
      begin, {.from = builder.ready_of(received), .cost = Cost::Propagation, .ns = 2 * one_way_ns});
  if (before) builder.add(begin, {.from = builder.end_of(*before)});
  const std::size_t transfer = builder.add_transfer({.source = from.source,
                                                     .kind = CollectiveKind::Send,
                                                     .bytes = std::max(from.bytes, to.bytes),
                                                     .is_between_hosts = from.node != to.node,
                                                     .took_ns = to.end_ns - begin_ns});
  builder.add(
      builder.end_of(received),
      {.from = begin, .cost = Cost::Transfer, .ns = to.end_ns - begin_ns, .transfer = transfer});
  // At the sender it is over when the data have left, a propagation time earlier.
  const std::int64_t leaves_ns =
      std::min(std::max(from.own_ready_ns, to.own_ready_ns + one_way_ns), from.end_ns);
  const std::size_t leaves = builder.add_moment(sent.list, leaves_ns);
  builder.add(leaves, {.from = builder.ready_of(sent)});
  builder.add(leaves,
              {.from = builder.ready_of(received), .cost = Cost::Propagation, .ns = one_way_ns});
  builder.add(builder.end_of(sent), {.from = leaves,
                                     .cost = Cost::Transfer,
                                     .ns = from.end_ns - leaves_ns,
                                     .transfer = transfer});
}

}  // namespace chokepoint::analysis
