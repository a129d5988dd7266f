// Which flow of the record each of the ledger's connections is. Told by the recorders as their
// flows get rows, asked once a collective. Any thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "base/record/samples.h"
#include "capture/gloo/collectives.h"

namespace chokepoint::capture::observer {

class ConnectionFlows {
 public:
  // 0: none, or none yet. A number that is given again is another connection's.
  void set(std::uint32_t connection, std::int64_t flow) {
    if (connection == gloo::Collectives::kNoConnection) {
      return;
    }
    const std::lock_guard lock(mutex_);
    if (connection >= flows_.size()) {
      flows_.resize(std::max<std::size_t>(std::size_t{connection} + 1, flows_.size() * 2));
    }
    flows_[connection] = flow;
  }

  record::Figure flow(std::uint32_t connection) const {
    const std::lock_guard lock(mutex_);
    const std::int64_t flow = connection < flows_.size() ? flows_[connection] : 0;
    return flow == 0 ? record::Figure() : record::Figure(flow);
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::int64_t> flows_;  // by the connection's number; 0: not known
};

}  // namespace chokepoint::capture::observer
