#include "preflight/report/document.h"

#include "base/checks/check.h"
#include "base/control/bodies.h"
#include "preflight/report/json_parts.h"
#include "preflight/report/name_answers.h"
#include "preflight/report/pair_columns.h"
#include "preflight/report/sentence.h"
#include "preflight/report/words.h"
#include "preflight/report/yardstick.h"

namespace chokepoint::preflight {
namespace {

using cli::Json;
using control::list_body;
using control::or_null;

Json json_of_evidence(const Evidence& evidence) {
  return {{"what", evidence.what},
          {"value", evidence.value},
          {"unit", evidence.unit},
          {"from", evidence.from}};
}

Json json_of_finding(const Finding& finding) {
  Json json = checks::json_of(finding.check);
  json["place"] = name_of(finding.place);
  json["hosts"] = finding.hosts;
  json["ways"] = json_of_ways(finding.ways);
  json["evidence"] = list_body(finding.evidence, json_of_evidence);
  return json;
}

Json json_of_host(const HostResult& host) {
  return {{"name", host.name},
          {"address", text_or_null(host.address)},
          {"presence", name_of(host.presence)},
          {"error", json_of_error(host.error)},
          {"lost_during", text_or_null(host.lost_during)},
          {"program", text_or_null(host.program)},
          {"link_mbps", or_null(link_mbps(host))},
          {"facts", host.facts ? json_of(*host.facts) : Json()},
          {"doctor", checks::json_of(host.doctor)}};
}

Json json_of_trouble(const Trouble& trouble) {
  return {{"a", trouble.a},
          {"b", trouble.b},
          {"test", trouble.test},
          {"error", json_of_error(trouble.error)}};
}

Json json_of_cut(const CutResult& cut) {
  return {{"left", cut.left},
          {"right", cut.right},
          {"ways", json_of_ways(cut.ways)},
          {"together_mbps", cut.together_mbps},
          {"alone_mbps", or_null(cut.alone_mbps)}};
}

Json json_of_collective(const CollectiveResult& collective) {
  return {{"backend", collective.backend},
          {"ranks", collective.ranks},
          {"bytes", collective.bytes},
          {"bus_mbps", or_null(collective.bus_mbps)},
          {"time_us", or_null(collective.time_us)},
          {"error", json_of_error(collective.error)}};
}

void add_head(Json& document, const Measured& measured) {
  document["program"] = measured.program;
  document["plan"] = measured.plan;
  document["seed"] = measured.seed;
  document["sampled"] = measured.is_sampled;
  document["interrupted"] = measured.was_interrupted;
  document["duration_s"] = measured.duration_s;
  document["left_out"] = measured.left_out;
}

}  // namespace

Json document_of(const cli::Context& context, const Measured& measured,
                 const Judgement& judgement) {
  Json document = cli::document(context, kSchema);
  add_head(document, measured);
  document["verdict"] = checks::name_of(judgement.verdict);
  document["sentence"] = sentence_of(measured, judgement);
  document["checks"] = list_body(judgement.findings, json_of_finding);
  document["hosts"] = list_body(measured.hosts, json_of_host);
  document["names"] = json_of_names(measured.hosts);
  document["expected_from"] = Yardstick(measured).is_by_links() ? "link speeds" : "the fastest way";
  document["pairs"] = json_of_pairs(measured);
  document["troubles"] = list_body(measured.troubles, json_of_trouble);
  document["cuts"] = list_body(measured.cuts, json_of_cut);
  document["collective"] = measured.collective ? json_of_collective(*measured.collective) : Json();
  return document;
}

}  // namespace chokepoint::preflight
