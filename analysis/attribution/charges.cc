#include "analysis/attribution/charges.h"

#include <algorithm>
#include <optional>

#include "analysis/attribution/charge_verdict.h"
#include "analysis/attribution/hosts.h"

namespace chokepoint::analysis {
namespace {

// A host that gets no processor is to blame for whatever its connections seem to wait for.
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
  explicit Exposure(const DiagnosisInput& input)
      : steps_(static_cast<double>(input.steps.settled.size())) {
    double outage_ns = 0;
    for (const DirectionBlame& direction : input.blame.directions) {
      outage_ns += is_outage(direction, Limit::Loss) ? direction.held[Limit::Loss] : 0;
    }
    const double rest_ns = static_cast<double>(length_ns(input.phases.communicating)) - outage_ns;
    const double rest_ms = input.phases.exposed_ms - outage_ns / 1e6 / steps_;
    outage_ = rest_ms < 0 ? input.phases.exposed_ms * 1e6 * steps_ / outage_ns : 1;
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

std::vector<Charge> charges_of(const DiagnosisInput& input) {
  const Starvation starvation(input);
  const Exposure exposure(input);
  std::vector<Charge> charges;
  const auto add = [&](const DirectionBlame& direction, const Route& route, double ns,
                       std::optional<Limit> limit) {
    if (ns <= 0) {
      return;
    }
    Charge charge{.direction = &direction,
                  .route = route,
                  .limit = limit,
                  .ms = exposure.ms(direction, ns, limit)};
    const bool is_real_loss = limit == Limit::Loss && direction.facts.is_lossy;
    if (!is_real_loss && starvation.take(direction.view, charge)) {
      charges.push_back(charge);
    } else if (limit) {
      judge_charge(input, *limit, charge);
      charges.push_back(charge);
    }
  };
  for (const DirectionBlame& direction : input.blame.directions) {
    const Route route = route_of(input, direction);
    for (std::size_t limit = 0; limit < kLimits; ++limit) {
      add(direction, route, direction.held.ns.at(limit), Limit(limit));
    }
  }
  if (const DirectionBlame* main = main_direction(input.blame)) {
    add(*main, route_of(input, *main), input.blame.idle_ns, std::nullopt);
  }
  return charges;
}

}  // namespace chokepoint::analysis
