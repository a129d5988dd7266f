// What fit_clocks() makes of a run's records, where one host's boot id is no help: in the lab all
// hosts have one clock, so what it finds is its error.
//
//   lab_clocks FOLDER      prints a line of JSON
#include <fmt/format.h>

#include <cstdio>

#include <nlohmann/json.hpp>

#include "analysis/load/run_data.h"
#include "analysis/timeline/clocks.h"
#include "base/record/reader.h"

namespace chokepoint::analysis {
namespace {

using Json = nlohmann::ordered_json;

Json in_us(std::optional<double> ns) { return ns ? Json(*ns / 1e3) : Json(nullptr); }

// The node's own time less the common one, at the ends of its span.
Json document(const NodeData& node, const NodeClock& clock) {
  return {
      {"name", node.name},
      {"source", name_of(clock.source)},
      {"offset_us_first",
       in_us(-static_cast<double>(clock.to_common.shift_ns(node.span.start_ns)))},
      {"offset_us_last", in_us(-static_cast<double>(clock.to_common.shift_ns(node.span.end_ns)))},
      {"drift_ppm", clock.drift_ppm},
      {"error_us", in_us(clock.error_ns)},
      {"noise_us", in_us(clock.noise_ns)},
      {"span_s", static_cast<double>(node.span.length_ns()) / 1e9}};
}

int report(const char* folder) {
  Result<record::Run> records = record::open_run(folder);
  if (!records) {
    fmt::print(stderr, "{}\n", describe(records.error()));
    return 1;
  }
  const RunData run = load_run(*records);
  const Clocks clocks = fit_clocks(run, {.use_boot_ids = false});
  Json nodes = Json::array();
  for (std::size_t i = 0; i < run.nodes.size(); ++i) {
    nodes.push_back(document(run.nodes[i], clocks.nodes[i]));
  }
  fmt::print("{}\n", Json{{"nodes", nodes}, {"missing", clocks.missing}}.dump());
  return 0;
}

}  // namespace
}  // namespace chokepoint::analysis

int main(int count, char** words) {
  if (count != 2) {
    fmt::print(stderr, "usage: lab_clocks FOLDER\n");
    return 2;
  }
  return chokepoint::analysis::report(words[1]);
}
