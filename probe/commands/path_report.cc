#include "probe/commands/path_report.h"

#include <algorithm>

#include "base/control/bodies.h"
#include "probe/path/loss.h"

namespace chokepoint::probe {
namespace {

using cli::Json;
using control::or_null;
using path::FamilyOutcome;
using path::Hop;
using path::Survey;

Json or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }

Json text_or_null(const std::optional<net::Address>& address) {
  return address ? Json(address->text()) : Json();
}

Json texts_of(const std::vector<net::Address>& addresses) {
  Json list = Json::array();
  for (const net::Address& address : addresses) {
    list.push_back(address.text());
  }
  return list;
}

Json hop_body(const Hop& hop, path::Silence silence) {
  return {{"ttl", hop.ttl},
          {"address", text_or_null(hop.address())},
          {"rtt_ms", or_null(hop.median_rtt_ms())},
          {"loss_percent", or_null(hop.loss_percent())},
          {"sent", hop.sent},
          {"answered", hop.answered},
          {"addresses", texts_of(hop.addresses)},
          {"silence", name_of(silence)},
          {"unreachable", hop.unreachable ? Json(words_of(*hop.unreachable)) : Json()}};
}

Json hops_body(const std::optional<Survey>& survey) {
  if (!survey) {
    return {};
  }
  const std::vector<path::Silence> silences = path::judge_loss(survey->trace.hops);
  Json list = Json::array();
  for (std::size_t i = 0; i < silences.size(); ++i) {
    list.push_back(hop_body(survey->trace.hops[i], silences[i]));
  }
  return list;
}

Json black_hole_body(const path::BlackHole& hole) {
  return {{"packet_bytes", hole.packet_bytes},
          {"last_before", hole.last_before ? text_or_null(hole.last_before->address()) : Json()},
          {"first_behind", text_or_null(hole.first_behind.address())}};
}

Json mtu_body(const std::optional<Survey>& survey) {
  if (!survey || !survey->mtu) {
    return {};
  }
  const path::MtuFinding& mtu = *survey->mtu;
  return {{"path_mtu_bytes", or_null(mtu.path_mtu_bytes)},
          {"interface_mtu_bytes", or_null(mtu.interface_mtu_bytes)},
          {"confirmed", mtu.confirmed},
          {"limited_by", text_or_null(mtu.limited_by)},
          {"announced_bytes", or_null(mtu.announced_bytes)},
          {"black_hole_from_bytes", or_null(mtu.black_hole_from_bytes)},
          {"black_hole", survey->black_hole ? black_hole_body(*survey->black_hole) : Json()}};
}

// One way, with what is not in the list of its hops.
Json way_body(const std::optional<Survey>& survey, const std::string& why_not) {
  if (!survey) {
    return {{"hops", Json()}, {"why_not", or_null(why_not)}};
  }
  const path::Trace& trace = survey->trace;
  return {{"protocol", name_of(trace.protocol)},
          {"source", trace.source.address.text()},
          {"target", trace.target.address.text()},
          {"port", trace.target.port},
          {"reached", trace.reached},
          {"complete", trace.complete},
          {"probed_to", trace.probed_to},
          {"length", or_null(trace.length())},
          {"loss_percent", or_null(path::path_loss_percent(trace))},
          {"hops", hops_body(survey)},
          {"mtu", mtu_body(survey)}};
}

Json routers_body(const path::Symmetry& symmetry) {
  Json list = Json::array();
  for (const path::RouterMatch& router : symmetry.routers) {
    list.push_back({{"ttl", router.ttl},
                    {"forward", text_or_null(router.forward)},
                    {"reverse", text_or_null(router.reverse)},
                    {"match", name_of(router.match)},
                    {"why", router.why}});
  }
  return list;
}

Json family_body(const FamilyOutcome& outcome) {
  const path::FamilyFacts& facts = outcome.facts;
  return {
      {"resolves", facts.resolves()},
      {"addresses", texts_of(facts.addresses)},
      {"source", text_or_null(facts.source)},
      {"connection", name_of(facts.connection)},
      {"reason", or_null(facts.reason)},
      {"connect_ms", or_null(facts.connect_ms)},
      {"udp_passes", outcome.reverse ? Json(outcome.udp_passes) : Json()},
      {"forward", way_body(outcome.forward, outcome.no_forward)},
      {"reverse", way_body(outcome.reverse, outcome.no_reverse)},
      {"symmetric", or_null(outcome.symmetry.symmetric)},
      {"symmetry", {{"why", outcome.symmetry.why}, {"routers", routers_body(outcome.symmetry)}}},
      {"path_mtu_bytes", outcome.forward && outcome.forward->mtu
                             ? or_null(outcome.forward->mtu->path_mtu_bytes)
                             : Json()}};
}

}  // namespace

net::Family leading_family(const PathFindings& found) {
  const auto& order = found.host.in_order;
  const auto leads = [&](auto test) {
    return std::ranges::find_if(
        order, [&](const net::Address& address) { return test(found.host.of(address.family())); });
  };
  auto first = leads([](const path::FamilyFacts& facts) { return facts.answers(); });
  if (first == order.end()) {
    first = leads([](const path::FamilyFacts& facts) { return facts.source.has_value(); });
  }
  return first == order.end() ? net::Family::Ipv4 : first->family();
}

void add_to(Json& document, const PathFindings& found) {
  const net::Family family = leading_family(found);
  const FamilyOutcome& leading = found.of(family);
  document["peer"] = {
      {"host", found.host.name},
      {"address", leading.facts.resolves() ? Json(leading.facts.addresses.front().text()) : Json()},
      {"family", net::name_of(family)},
      {"port", found.host.port}};
  document["protocol"] = name_of(found.parameters.protocol);
  document["forward"] = hops_body(leading.forward);
  document["reverse"] = hops_body(leading.reverse);
  document["reverse_unknown_because"] = or_null(leading.no_reverse);
  Json families = {{"ipv4", family_body(found.ipv4)}, {"ipv6", family_body(found.ipv6)}};
  const Json& lead = families[net::name_of(family)];
  document["symmetric"] = lead["symmetric"];
  document["path_mtu_bytes"] = lead["path_mtu_bytes"];
  document["families"] = std::move(families);
  document["dual_stack_finding"] = or_null(found.dual_stack_finding);
}

}  // namespace chokepoint::probe
