#include "analysis/load/connections.h"
#include "analysis/load/missing.h"
#include "analysis/load/node_loader.h"
#include "analysis/load/node_turns.h"
#include "analysis/load/sample_loader.h"

namespace chokepoint::analysis {

RunData load_run(record::Run& run, const LoadLimits& limits) {
  RunData data{.unreadable = run.unreadable};
  data.nodes.resize(run.nodes.size());
  // What is planned by the one look is read by the next.
  std::vector<Result<record::Stillness>> still;
  for (record::Reader& reader : run.nodes) {
    still.push_back(reader.hold_still());
  }
  for_each_node(run.nodes.size(),
                [&](std::size_t node) { data.nodes[node] = load_node(run.nodes[node]); });
  const std::vector<SamplePlan> plans = plan_samples(run, limits, data.nodes);
  for_each_node(run.nodes.size(), [&](std::size_t node) {
    load_samples(run.nodes[node], plans[node], data.nodes[node]);
  });
  join_connections(data);
  data.missing = missing_of(data);
  return data;
}

}  // namespace chokepoint::analysis
