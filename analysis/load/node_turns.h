// Does something for each node of a run, on as many threads as there are cores: each takes the next
// node that nobody has. Returns when all are done.
#pragma once

#include <cstddef>
#include <functional>

namespace chokepoint::analysis {

void for_each_node(std::size_t nodes, const std::function<void(std::size_t)>& work);

}  // namespace chokepoint::analysis
