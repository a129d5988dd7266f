#include "analysis/attribution/route.h"

#include <algorithm>

#include "analysis/attribution/counters.h"
#include "base/record/names.h"

namespace chokepoint::analysis {
namespace {

constexpr double kSlotUsed = 0.7;      // of what the slot carries, by payload
constexpr double kSlotNarrower = 0.9;  // than the line

Card card_of(const DiagnosisInput& input, std::size_t place, const FlowData& flow, bool is_sender) {
  const NodeData& node = input.run.nodes[place];
  Card card = analysis::card_of(node, flow.row.interface);
  const Span span = input.span_of(place);
  const double all = grown(node, is_sender ? record::kNicSentBytes : record::kNicReceivedBytes,
                           card.interface, span);
  const double own = grown(node, is_sender ? record::kJobSentBytes : record::kJobReceivedBytes,
                           card.interface, span);
  if (span.length_ns() > 0) {
    card.others_mbps = std::max(0.0, all - own) * 8e3 / static_cast<double>(span.length_ns());
  }
  return card;
}

}  // namespace

Card card_of(const NodeData& node, const std::string& interface) {
  Card card{.node = node.name, .interface = interface};
  card.speed_mbps = last_level(node, record::kNicSpeed, interface);
  if (const Interface* known = node.interface(interface); known != nullptr && !card.speed_mbps) {
    card.speed_mbps = known->speed_mbps;
  }
  card.slot_mbps = last_level(node, record::kPcieCeiling, interface);
  return card;
}

std::optional<double> Route::line_mbps() const {
  if (!sender.speed_mbps || !receiver.speed_mbps) {
    return sender.speed_mbps ? sender.speed_mbps : receiver.speed_mbps;
  }
  return std::min(*sender.speed_mbps, *receiver.speed_mbps);
}

const Card* Route::narrow_slot() const {
  for (const Card* card : {&sender, &receiver}) {
    if (card->slot_mbps && card->speed_mbps &&
        *card->slot_mbps < kSlotNarrower * *card->speed_mbps &&
        rate_mbps > kSlotUsed * *card->slot_mbps) {
      return card;
    }
  }
  return nullptr;
}

Route route_of(const DiagnosisInput& input, const DirectionBlame& direction) {
  const DirectionView& view = direction.view;
  const Connection& connection = input.run.connections[view.connection];
  const auto from = static_cast<std::size_t>(view.direction);
  Route route{.from = connection.names.at(from), .to = connection.names.at(1 - from)};
  if (view.sender) {
    route.sender = card_of(input, *view.sender, *view.at_sender, true);
  }
  if (view.receiver) {
    route.receiver = card_of(input, *view.receiver, *view.at_receiver, false);
  }
  route.rtt_ms = direction.facts.min_rtt_us / 1e3;
  route.is_wan = route.rtt_ms >= input.options.wan_rtt_ms;
  route.rate_mbps = direction.rate_mbps;
  return route;
}

}  // namespace chokepoint::analysis
