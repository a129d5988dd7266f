#include "analysis/attribution/charges.h"

#include <algorithm>

#include "analysis/attribution/hosts.h"
#include "base/math/statistics.h"

namespace chokepoint::analysis {
namespace {

constexpr double kMaxShareOfCards = 0.5;  // of the line's rate
// Of the exchange: the last bucket of a backward pass, which nothing hides.
constexpr double kLastBucketShare = 0.2;
constexpr double kMaxOwnWork = 0.5;    // of the communication, that can be the processors' own work
constexpr double kMinLanRttMs = 0.15;  // judgement: hardly any LAN is faster

// Even the best change leaves what the line itself takes; a line that is full can only be replaced.
double beyond_line(const Route& route) {
  const auto line_mbps = route.line_mbps();
  const bool is_line_full = line_mbps && route.rate_mbps > kMinFullShare * *line_mbps;
  return line_mbps && *line_mbps > 0 && !is_line_full ? 1 - route.rate_mbps / *line_mbps : 1;
}

// Something between the cards is slower than both, or they negotiated less than they report.
bool is_far_below_its_cards(const Route& route) {
  const auto line_mbps = route.line_mbps();
  return !route.is_wan && line_mbps && route.rate_mbps < kMaxShareOfCards * *line_mbps;
}

Cause cause_of_sharing(const Route& route) {
  return route.is_shared_with_job()   ? Cause::JobTraffic
         : route.storage() != nullptr ? Cause::StorageTraffic
                                      : Cause::CompetingTraffic;
}

void judge_link(const DiagnosisInput& input, Charge& charge) {
  const Route& route = charge.route;
  charge.account = Account::Link;
  charge.verdict = route.is_wan ? VerdictClass::WanBandwidth : VerdictClass::LanBandwidth;
  charge.cause = route.is_shared()               ? cause_of_sharing(route)
                 : is_far_below_its_cards(route) ? Cause::Shaper
                                                 : Cause::LineRate;
  if (const Card* card = route.narrow_slot()) {
    charge.account = Account::Pcie;
    charge.verdict = VerdictClass::PcieNic;
    charge.cause = card->is_slot_slow ? Cause::PcieSpeed : Cause::PcieWidth;
    return;
  }
  charge.removable = route.is_shared() ? route.shared_share() : beyond_line(route);
  if (const auto better = better_route(input, *charge.direction, route)) {
    charge.verdict = VerdictClass::WrongPath;
    charge.cause = better->cause;
  }
}

void judge_window(const Route& route, bool is_receiver, Charge& charge) {
  charge.removable = beyond_line(route);
  charge.cause = is_receiver ? Cause::ReceiveWindow : Cause::SendBuffer;
  charge.account = route.is_wan  ? Account::Window
                   : is_receiver ? Account::ReceiverHost
                                 : Account::SenderHost;
  charge.verdict = route.is_wan  ? VerdictClass::WanLatency
                   : is_receiver ? VerdictClass::ReceiverHost
                                 : VerdictClass::SenderHost;
}

// Of the communication, what its own work takes. Over a slow link or one that loses packets threads
// wake for each packet, and would not over a better one; over a long path they do not.
double own_work(const Phases& phases) {
  const double communicating_ms = phases.exposed_ms + phases.hidden_ms;
  return communicating_ms > 0 ? std::min(kMaxOwnWork, phases.exchange_work_ms / communicating_ms)
                              : 0;
}

void judge_delay(const DiagnosisInput& input, Account account, Cause cause, Charge& charge) {
  const Route& route = charge.route;
  charge.removable = std::min(beyond_line(route), 1 - own_work(input.phases));
  charge.account = account;
  charge.cause = cause;
  charge.verdict = route.is_wan ? VerdictClass::WanLatency : VerdictClass::LanLatency;
  if (!route.is_wan) {
    charge.removable *= route.rtt_ms > 0 ? std::max(0.0, 1 - kMinLanRttMs / route.rtt_ms) : 0;
  }
}

// Most of the time more data are ready than the host sends, at one rate: the queue is in the host,
// and packets captured after it do not show it.
bool is_queued_in_host(const DirectionFacts& facts) {
  return facts.has_backlog_mostly && facts.is_steady;
}

// Fills in account, verdict, cause and what is removable, for time in which a limit held a
// direction.
void judge_charge(const DiagnosisInput& input, Limit limit, Charge& charge) {
  switch (limit) {
    case Limit::LinkFull:
      // Long round trips are no sure sign of a queue there, unless others are known to make one, or
      // the sender's own interface takes no more.
      return charge.direction->facts.is_late_by_host && !charge.route.is_shared() &&
                     !is_queued_in_host(charge.direction->facts)
                 ? judge_delay(input, Account::Latency, Cause::RoundTrips, charge)
                 : judge_link(input, charge);
    case Limit::Loss:
      charge.account = Account::Loss;
      charge.cause = Cause::Loss;
      charge.verdict = charge.route.is_wan ? VerdictClass::WanLoss : VerdictClass::LanLoss;
      return;
    case Limit::ReceiveWindow:
      return judge_window(charge.route, true, charge);
    case Limit::SendBuffer:
      return judge_window(charge.route, false, charge);
    case Limit::CongestionWindow:
      return judge_delay(input, Account::Window, Cause::CongestionWindow, charge);
    case Limit::LibraryCredit:
      // A message goes as a whole; only a collective's segments wait for credit.
      return input.phases.by_messages
                 ? judge_delay(input, Account::Latency, Cause::RoundTrips, charge)
                 : judge_delay(input, Account::Library, Cause::GlooCredit, charge);
    case Limit::RoundTrip:
      return judge_delay(input, Account::Latency, Cause::RoundTrips, charge);
  }
}

// Where a host's threads get no processor, that is the cause of all waits of its connections.
class Starvation {
 public:
  explicit Starvation(const DiagnosisInput& input) {
    for (std::size_t place = 0; place < input.run.nodes.size(); ++place) {
      loads_.push_back(load_of(input.run.nodes[place], input.span_of(place)));
    }
  }

  bool take(const DirectionView& view, Charge& charge) const {
    const HostLoad* sender = view.sender ? &loads_[*view.sender] : nullptr;
    const HostLoad* receiver = view.receiver ? &loads_[*view.receiver] : nullptr;
    const bool is_receiver = receiver != nullptr && receiver->is_at_limit();
    const bool is_sender = sender != nullptr && sender->is_at_limit();
    if (!is_receiver && !is_sender) {
      return false;
    }
    const bool is_receivers =
        is_receiver && (!is_sender || receiver->waited_percent > sender->waited_percent);
    charge.account = is_receivers ? Account::ReceiverHost : Account::SenderHost;
    charge.verdict = is_receivers ? VerdictClass::ReceiverHost : VerdictClass::SenderHost;
    charge.cause = (is_receivers ? receiver : sender)->cause();
    return true;
  }

 private:
  std::vector<HostLoad> loads_;
};

// Converts held time to exposed time: a connection that stands still holds everything up, so what
// computing hides is hidden of the rest.
class Exposure {
 public:
  explicit Exposure(const DiagnosisInput& input)
      : steps_(static_cast<double>(input.steps.settled.size())) {
    double outage_ns = 0;
    for (const DirectionLimits& direction : input.limit_timeline.directions) {
      outage_ns += is_outage(direction, Limit::Loss) ? direction.held[Limit::Loss] : 0;
    }
    const double rest_ns = static_cast<double>(length_ns(input.phases.communicating)) - outage_ns;
    const double rest_ms = input.phases.exposed_ms - outage_ns / 1e6 / steps_;
    outage_ = rest_ms < 0 ? input.phases.exposed_ms * 1e6 * steps_ / outage_ns : 1;
    rest_ = rest_ns > 0 ? std::max(0.0, rest_ms) * 1e6 * steps_ / rest_ns : 0;
  }

  double ms(const DirectionLimits& direction, double ns, std::optional<Limit> limit) const {
    return ns * (is_outage(direction, limit) ? outage_ : rest_) / 1e6 / steps_;
  }

  // Of the time that is exposed, the share that goes if communication takes less by `removable`:
  // as much as before is hidden of what is left, but for its end, which nothing can hide.
  double share_removed(const DirectionLimits& direction, std::optional<Limit> limit,
                       double removable) const {
    if (is_outage(direction, limit) || rest_ <= 0) {
      return removable;
    }
    const double exposed = std::min(rest_, 1.0);
    const double left = 1 - removable;
    return 1 - std::max(exposed - removable, std::min(kLastBucketShare, exposed) * left) / exposed;
  }

 private:
  static bool is_outage(const DirectionLimits& direction, std::optional<Limit> limit) {
    return limit == Limit::Loss && !direction.facts.is_lossy && !direction.facts.is_shrunk_by_loss;
  }

  double steps_ = 1;
  double outage_ = 1;
  double rest_ = 1;  // of communicating, what is exposed
};

struct RoutedDirection {
  const DirectionLimits* direction = nullptr;
  Route route = {};
};

// The routes of all directions.
class Routes {
 public:
  explicit Routes(const DiagnosisInput& input) {
    for (const DirectionLimits& direction : input.limit_timeline.directions) {
      routed_.push_back({&direction, route_of(input, direction)});
    }
  }

  const RoutedDirection& of(const DirectionLimits& direction) const {
    return routed_[static_cast<std::size_t>(&direction - routed_.front().direction)];
  }

  // Whose queue it is that shows in this direction's round trips: its own, or that of the reverse
  // direction, in which acknowledgements wait: if others fill that one and no less passes there, or
  // if the job's data wait there and none do here.
  const RoutedDirection& queued(const DirectionLimits& direction) const {
    const RoutedDirection& own = of(direction);
    const auto full = std::ranges::find_if(
        routed_, [&](const RoutedDirection& routed) { return acks_wait_for(own, routed); });
    if (full != routed_.end()) {
      return *full;
    }
    const auto back = std::ranges::find_if(routed_, [&](const RoutedDirection& routed) {
      return routed.direction->view.connection == direction.view.connection &&
             routed.direction->view.direction != direction.view.direction;
    });
    const bool is_theirs = back != routed_.end() && back->route.is_shared() &&
                           !own.route.is_shared() && all_mbps(back->route) > all_mbps(own.route);
    return is_theirs ? *back : own;
  }

 private:
  static bool acks_wait_for(const RoutedDirection& own, const RoutedDirection& other) {
    const DirectionView& there = own.direction->view;
    const DirectionView& back = other.direction->view;
    return there.receiver && there.receiver == back.sender &&
           there.at_receiver->row.interface == back.at_sender->row.interface &&
           own.direction->facts.has_queue_mostly && !own.direction->facts.has_backlog_mostly &&
           is_queued_in_host(other.direction->facts);
  }

  static double all_mbps(const Route& route) { return route.rate_mbps + route.shared_mbps(); }

  std::vector<RoutedDirection> routed_;
};

// Where a buffer or a window holds less than a message, data go in pieces, each after an
// acknowledgement: on a short path the waits between them are its, too, in whichever direction they
// show.
void join_round_trips(std::vector<Charge>& charges) {
  const auto is_small_window = [](const Charge& charge) {
    return charge.cause == Cause::SendBuffer || charge.cause == Cause::ReceiveWindow;
  };
  for (Charge& charge : charges) {
    if (charge.verdict != VerdictClass::LanLatency || charge.cause != Cause::RoundTrips) {
      continue;
    }
    const auto window = std::ranges::find_if(charges, [&](const Charge& other) {
      return is_small_window(other) && other.ms > charge.ms &&
             other.direction->view.connection == charge.direction->view.connection;
    });
    if (window != charges.end()) {
      charge.route = window->route;
      charge.account = window->account;
      charge.verdict = window->verdict;
      charge.cause = window->cause;
      charge.removable = window->removable;
    }
  }
}

}  // namespace

std::vector<Charge> charges_of(const DiagnosisInput& input) {
  const Routes routes(input);
  const Starvation starvation(input);
  const Exposure exposure(input);
  std::vector<Charge> charges;
  const auto add = [&](const DirectionLimits& direction, double ns, std::optional<Limit> limit) {
    if (ns <= 0) {
      return;
    }
    const RoutedDirection& routed =
        limit == Limit::LinkFull ? routes.queued(direction) : routes.of(direction);
    Charge charge{.direction = routed.direction,
                  .route = routed.route,
                  .limit = limit,
                  .ms = exposure.ms(direction, ns, limit)};
    const bool is_real_loss = limit == Limit::Loss && direction.facts.is_lossy;
    if (!is_real_loss && starvation.take(direction.view, charge)) {
      charges.push_back(charge);
    } else if (limit) {
      judge_charge(input, *limit, charge);
      charge.removable = exposure.share_removed(direction, limit, charge.removable);
      charges.push_back(charge);
    }
  };
  for (const DirectionLimits& direction : input.limit_timeline.directions) {
    for (std::size_t limit = 0; limit < kLimits; ++limit) {
      add(direction, direction.held.ns.at(limit), Limit(limit));
    }
  }
  // Time in which nothing was under way is charged to the direction that moved most.
  const auto bytes = [](const DirectionLimits& direction) { return direction.facts.bytes; };
  if (const DirectionLimits* main = math::most_by(input.limit_timeline.directions, bytes)) {
    add(*main, input.limit_timeline.idle_ns, std::nullopt);
  }
  join_round_trips(charges);
  return charges;
}

}  // namespace chokepoint::analysis
