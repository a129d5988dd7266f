#include <algorithm>
#include <atomic>
#include <functional>
#include <thread>

#include "analysis/load/connections.h"
#include "analysis/load/missing.h"
#include "analysis/load/node_loader.h"
#include "analysis/load/sample_loader.h"
#include "base/record/quiet_thread.h"

namespace chokepoint::analysis {
namespace {

// Does something for each node, on as many threads as there are cores: each takes the next node
// that nobody has.
class Shared {
 public:
  Shared(std::size_t nodes, std::function<void(std::size_t)> work)
      : nodes_(nodes), work_(std::move(work)) {}

  void run() {
    const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
    std::vector<std::thread> others;
    for (std::size_t count = 1; count < std::min(cores, nodes_); ++count) {
      others.push_back(record::quiet_thread("load", [this] { take_turns(); }));
    }
    take_turns();
    for (std::thread& other : others) {
      if (other.joinable()) {
        other.join();
      }
    }
  }

 private:
  void take_turns() {
    for (std::size_t node = next_++; node < nodes_; node = next_++) {
      work_(node);
    }
  }

  const std::size_t nodes_;
  const std::function<void(std::size_t)> work_;
  std::atomic<std::size_t> next_ = 0;
};

}  // namespace

RunData load_run(record::Run& run, const LoadLimits& limits) {
  RunData data{.unreadable = run.unreadable};
  data.nodes.resize(run.nodes.size());
  // What is planned by the one look is read by the next.
  std::vector<Result<record::Stillness>> still;
  for (record::Reader& reader : run.nodes) {
    still.push_back(reader.hold_still());
  }
  Shared(run.nodes.size(), [&](std::size_t node) {
    data.nodes[node] = load_node(run.nodes[node]);
  }).run();
  const std::vector<SamplePlan> plans = plan_samples(run, limits, data.nodes);
  Shared(run.nodes.size(), [&](std::size_t node) {
    load_samples(run.nodes[node], plans[node], data.nodes[node]);
  }).run();
  join_connections(data);
  data.missing = missing_of(data);
  return data;
}

}  // namespace chokepoint::analysis
