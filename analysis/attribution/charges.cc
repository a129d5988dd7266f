#include "analysis/attribution/charges.h"

#include <algorithm>
#include <optional>

#include "analysis/attribution/hosts.h"

namespace chokepoint::analysis {
namespace {

constexpr double kOthersShare = 0.2;    // of what passes the card
constexpr double kLineFull = 0.7;       // of the line, by payload
constexpr double kBestLanRttMs = 0.15;  // no wire inside a room does much better

// Even the best change leaves what the line itself takes; a line that is full can only be replaced.
double beyond_line(const Route& route) {
  const auto line_mbps = route.line_mbps();
  const bool is_line_full = line_mbps && route.rate_mbps > kLineFull * *line_mbps;
  return line_mbps && *line_mbps > 0 && !is_line_full ? 1 - route.rate_mbps / *line_mbps : 1;
}

void judge_link(const Scene& scene, Charge& charge) {
  const Route& route = charge.route;
  charge.account = Account::Link;
  charge.verdict = route.is_wan ? VerdictClass::WanBandwidth : VerdictClass::LanBandwidth;
  const double others = std::max(route.sender.others_mbps, route.receiver.others_mbps);
  charge.cause =
      others > kOthersShare * (others + route.rate_mbps) ? "competing-traffic" : "line-rate";
  if (route.narrow_slot() != nullptr) {
    charge.account = Account::Pcie;
    charge.verdict = VerdictClass::PcieNic;
    charge.cause = "pcie-width";
    return;
  }
  charge.removable = beyond_line(route);
  if (const auto better = better_way(scene, *charge.direction, route)) {
    charge.verdict = VerdictClass::WrongPath;
    charge.cause = better->cause;
  }
}

void judge_window(const Route& route, bool is_receiver, Charge& charge) {
  charge.removable = beyond_line(route);
  charge.cause = is_receiver ? "receive-window" : "send-buffer";
  charge.account = route.is_wan  ? Account::Window
                   : is_receiver ? Account::ReceiverHost
                                 : Account::SenderHost;
  charge.verdict = route.is_wan  ? VerdictClass::WanLatency
                   : is_receiver ? VerdictClass::ReceiverHost
                                 : VerdictClass::SenderHost;
}

void judge_delay(const Route& route, Account account, const char* cause, Charge& charge) {
  charge.removable = beyond_line(route);
  charge.account = account;
  charge.cause = cause;
  charge.verdict = route.is_wan ? VerdictClass::WanLatency : VerdictClass::LanLatency;
  if (!route.is_wan) {
    charge.removable *= route.rtt_ms > 0 ? std::max(0.0, 1 - kBestLanRttMs / route.rtt_ms) : 0;
  }
}

void judge(const Scene& scene, Limit limit, Charge& charge) {
  switch (limit) {
    case Limit::LinkFull:
      return judge_link(scene, charge);
    case Limit::Loss:
      charge.account = Account::Loss;
      charge.cause = "loss";
      charge.verdict = charge.route.is_wan ? VerdictClass::WanLoss : VerdictClass::LanLoss;
      return;
    case Limit::ReceiveWindow:
      return judge_window(charge.route, true, charge);
    case Limit::SendBuffer:
      return judge_window(charge.route, false, charge);
    case Limit::CongestionWindow:
      return judge_delay(charge.route, Account::Window, "congestion-window", charge);
    case Limit::LibraryCredit:
      return judge_delay(charge.route, Account::Library, "gloo-credit", charge);
    case Limit::RoundTrip:
      return judge_delay(charge.route, Account::Latency, "round-trips", charge);
  }
}

// A host that gets no processor is to blame for whatever its connections seem to wait for.
class Starvation {
 public:
  explicit Starvation(const Scene& scene) {
    for (std::size_t place = 0; place < scene.run.nodes.size(); ++place) {
      loads_.push_back(load_of(scene.run.nodes[place], scene.span_of(place)));
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
    const bool blames_receiver =
        is_receiver && (!is_sender || receiver->waited_percent > sender->waited_percent);
    charge.account = blames_receiver ? Account::ReceiverHost : Account::SenderHost;
    charge.verdict = blames_receiver ? VerdictClass::ReceiverHost : VerdictClass::SenderHost;
    charge.cause = (blames_receiver ? receiver : sender)->cause();
    return true;
  }

 private:
  std::vector<HostLoad> loads_;
};

// The direction that moved most, for time in which nothing was under way.
const DirectionBlame* main_direction(const Blame& blame) {
  const DirectionBlame* most = nullptr;
  for (const DirectionBlame& direction : blame.directions) {
    most = most == nullptr || direction.facts.bytes > most->facts.bytes ? &direction : most;
  }
  return most;
}

// A connection that stands still holds everything up; what computing hides is hidden of the rest.
class Exposure {
 public:
  explicit Exposure(const Scene& scene) : steps_(static_cast<double>(scene.steps.settled.size())) {
    double outage_ns = 0;
    for (const DirectionBlame& direction : scene.blame.directions) {
      outage_ns += is_outage(direction, Limit::Loss) ? direction.held[Limit::Loss] : 0;
    }
    const double rest_ns = static_cast<double>(length_ns(scene.phases.communicating)) - outage_ns;
    const double rest_ms = scene.phases.exposed_ms - outage_ns / 1e6 / steps_;
    outage_ = rest_ms < 0 ? scene.phases.exposed_ms * 1e6 * steps_ / outage_ns : 1;
    rest_ = rest_ns > 0 ? std::max(0.0, rest_ms) * 1e6 * steps_ / rest_ns : 0;
  }

  double ms(const DirectionBlame& direction, double ns, std::optional<Limit> limit) const {
    return ns * (is_outage(direction, limit) ? outage_ : rest_) / 1e6 / steps_;
  }

 private:
  static bool is_outage(const DirectionBlame& direction, std::optional<Limit> limit) {
    return limit == Limit::Loss && !direction.facts.is_lossy;
  }

  double steps_ = 1;
  double outage_ = 1;
  double rest_ = 1;  // of communicating, what is exposed
};

}  // namespace

std::vector<Charge> charges_of(const Scene& scene) {
  const Starvation starvation(scene);
  const Exposure exposure(scene);
  std::vector<Charge> charges;
  const auto add = [&](const DirectionBlame& direction, double ns, std::optional<Limit> limit) {
    if (ns <= 0) {
      return;
    }
    Charge charge{.direction = &direction,
                  .route = route_of(scene, direction),
                  .ms = exposure.ms(direction, ns, limit)};
    const bool is_real_loss = limit == Limit::Loss && direction.facts.is_lossy;
    if (!is_real_loss && starvation.take(direction.view, charge)) {
      charges.push_back(charge);
    } else if (limit) {
      judge(scene, *limit, charge);
      charges.push_back(charge);
    }
  };
  for (const DirectionBlame& direction : scene.blame.directions) {
    for (std::size_t limit = 0; limit < kLimits; ++limit) {
      add(direction, direction.held.ns.at(limit), Limit(limit));
    }
  }
  if (const DirectionBlame* main = main_direction(scene.blame)) {
    add(*main, scene.blame.idle_ns, std::nullopt);
  }
  return charges;
}

}  // namespace chokepoint::analysis
