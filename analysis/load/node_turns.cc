#include "analysis/load/node_turns.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "base/record/syncer.h"

namespace chokepoint::analysis {

void for_each_node(std::size_t nodes, const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next = 0;
  const auto take_turns = [&] {
    for (std::size_t node = next++; node < nodes; node = next++) {
      work(node);
    }
  };
  const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
  std::vector<std::thread> others;
  for (std::size_t count = 1; count < std::min(cores, nodes); ++count) {
    others.push_back(record::quiet_thread("load", take_turns));
  }
  take_turns();
  for (std::thread& other : others) {
    if (other.joinable()) {
      other.join();
    }
  }
}

}  // namespace chokepoint::analysis
