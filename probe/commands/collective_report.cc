#include "probe/commands/collective_report.h"

#include <algorithm>
#include <set>

#include "base/control/bodies.h"

namespace chokepoint::probe {
namespace {

using cli::Json;
using collective::Outcome;
using collective::SizeResult;
using collective::Way;
using collective::Wrong;
using control::or_null;

Json text_or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }

Json wrong_body(const Wrong& wrong) {
  return {{"rank", wrong.rank},
          {"offset_bytes", wrong.offset_bytes},
          {"wanted", wrong.wanted},
          {"found", wrong.found}};
}

Json size_body(const SizeResult& size) {
  Json body{{"bytes", size.operation.bytes},
            {"elements", size.operation.bytes / collective::bytes_of(size.operation.type)},
            {"time_us", control::distribution_body(math::distribution(size.times_us))},
            {"algbw_mbps", or_null(algbw_mbps(size))},
            {"busbw_mbps", or_null(busbw_mbps(size))},
            {"checked", size.wrong ? Json(size.wrong->empty()) : Json()}};
  if (size.is_wrong()) {
    body["wrong"] = control::list_body(*size.wrong, wrong_body);
  }
  return body;
}

Json rank_body(const Outcome& outcome, std::size_t index) {
  const Way way = index < outcome.ways.size() ? outcome.ways[index] : Way{};
  return {{"rank", outcome.members[index].rank},
          {"host", outcome.members[index].host},
          {"interface", text_or_null(way.interface)},
          {"local_address", text_or_null(way.local_address)}};
}

Json ranks_body(const Outcome& outcome) {
  Json list = Json::array();
  for (std::size_t i = 0; i < outcome.members.size(); ++i) {
    list.push_back(rank_body(outcome, i));
  }
  return list;
}

std::size_t hosts_of(const Outcome& outcome) {
  std::set<std::string> hosts;
  for (const collective::Newcomer& member : outcome.members) {
    hosts.insert(member.host);
  }
  return hosts.size();
}

// As rank 0 has it; how others differ stands with each rank.
void add_way(Json& document, const Outcome& outcome) {
  const Way way = outcome.ways.empty() ? Way{} : outcome.ways.front();
  document["interface"] = text_or_null(way.interface);
  document["transport"] = text_or_null(way.transport);
  document["library"] = text_or_null(way.library);
  document["family"] = text_or_null(way.family);
  document["local_address"] = text_or_null(way.local_address);
  document["channels"] = or_null(way.channels);
  document["sockets_per_peer"] = or_null(way.sockets_per_peer);
  document["link_mbps"] = or_null(way.link_mbps);
  document["better"] = text_or_null(way.better);
}

}  // namespace

void add_to(Json& document, const CollectiveMeasured& measured) {
  const Outcome& outcome = measured.outcome;
  const collective::Fit fitted = fit_of(outcome);
  document["backend"] = measured.backend;
  document["collective"] = name_of(measured.plan.collective);
  document["type"] = name_of(measured.plan.type);
  document["ranks"] = measured.ranks;
  document["hosts"] = hosts_of(outcome);
  document["launcher"] = measured.launcher;
  add_way(document, outcome);
  document["sizes"] = control::list_body(outcome.sizes, size_body);
  document["alpha_us"] = or_null(fitted.alpha_us);
  document["beta_mbps"] = or_null(fitted.beta_mbps);
  document["members"] = ranks_body(outcome);
  document["missed"] = measured.missed;
  document["interrupted"] = measured.interrupted;
  document["failure"] = measured.failure ? Json(describe(*measured.failure)) : Json();
}

}  // namespace chokepoint::probe
