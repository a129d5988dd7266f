#include "analysis/attribution/network.h"

#include <algorithm>
#include <map>

#include "analysis/attribution/charges.h"
#include "analysis/attribution/evidence.h"

namespace chokepoint::analysis {
namespace {

constexpr double kBothWays = 0.35;  // the lesser way of the greater

using Pair = std::pair<std::string, std::string>;

// What waits for a round trip waits for both ways of it.
bool is_round_trip(const std::string& cause) {
  return cause == "round-trips" || cause == "gloo-credit";
}

// The two nodes most charged, and which way.
Where where_of(const std::vector<const Charge*>& charges, const std::string& cause) {
  std::map<Pair, double> ways;
  for (const Charge* charge : charges) {
    ways[{charge->route.from, charge->route.to}] += charge->ms;
  }
  const auto most = std::ranges::max_element(ways, {}, [](const auto& way) { return way.second; });
  const auto back = ways.find({most->first.second, most->first.first});
  const bool is_both =
      is_round_trip(cause) || (back != ways.end() && back->second > kBothWays * most->second);
  return {.from = most->first.first, .to = most->first.second, .direction = is_both ? "both" : ""};
}

// Of the nodes at both ends the first, so that either direction names the same card.
void name_card(const Charge& charge, Where& where) {
  const Route& route = charge.route;
  const bool is_sender = route.receiver.node.empty() ||
                         (!route.sender.node.empty() && route.sender.node < route.receiver.node);
  const Card* card = is_sender ? &route.sender : &route.receiver;
  if (charge.verdict == VerdictClass::PcieNic) {
    card = route.narrow_slot();
  } else if (charge.verdict != VerdictClass::WrongPath) {
    return;
  }
  where.interface = card->interface;
  where.node = card->node;
}

// What is alike has one finding an account, of which the largest tells the verdict of all.
struct Group {
  std::vector<const Charge*> charges = {};
  std::map<std::string, double> causes = {};
  double removable_ms = 0;
};

const Charge& largest(const Group& group) {
  const auto cause =
      std::ranges::max_element(group.causes, {}, [](const auto& entry) { return entry.second; });
  const Charge* most = nullptr;
  for (const Charge* charge : group.charges) {
    most =
        charge->cause == cause->first && (most == nullptr || charge->ms > most->ms) ? charge : most;
  }
  return *most;
}

Verdict verdict_of(const DiagnosisInput& input, const Group& group) {
  const Charge& charge = largest(group);
  Verdict verdict{.verdict = charge.verdict,
                  .cause = charge.cause,
                  .where = where_of(group.charges, charge.cause),
                  .lost_ms_per_step = group.removable_ms};
  name_card(charge, verdict.where);
  add_evidence(input, *charge.direction, charge.route, verdict);
  return verdict;
}

}  // namespace

Findings network_findings(const DiagnosisInput& input) {
  Findings network;
  const std::vector<Charge> charges = charges_of(input);
  std::map<VerdictClass, Group> groups;
  for (const Charge& charge : charges) {
    Group& group = groups[charge.verdict];
    group.charges.push_back(&charge);
    group.causes[charge.cause] += charge.ms;
    group.removable_ms += charge.ms * charge.removable;
    network.accounting[charge.account] += charge.ms;
  }
  for (const auto& [verdict, group] : groups) {
    network.verdicts.push_back(verdict_of(input, group));
  }
  return network;
}

}  // namespace chokepoint::analysis
