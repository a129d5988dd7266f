#include "analysis/phases/thoughts.h"

#include <algorithm>
#include <map>

namespace chokepoint::analysis {

using record::CollectiveKind;

std::vector<const Exchange*> of_kind(const std::vector<Exchange>& exchanges, CollectiveKind kind) {
  std::vector<const Exchange*> found;
  for (const Exchange& exchange : exchanges) {
    if (exchange.kind == kind) {
      found.push_back(&exchange);
    }
  }
  return found;
}

namespace {

// What a stage needs for a message that it sends: from its other neighbour the one of the same
// number, if numbers tell; at an end of the pipeline all that it has received.
class Needs {
 public:
  explicit Needs(const std::vector<Exchange>& exchanges)
      : received_(of_kind(exchanges, CollectiveKind::Receive)) {
    std::ranges::sort(received_, {}, &Exchange::end_ns);
  }

  std::int64_t met_ns(const Exchange& sent) {
    for (; next_ < received_.size() && received_[next_]->end_ns <= sent.own_ready_ns; ++next_) {
      const Exchange& received = *received_[next_];
      if (received.connection >= 0) {
        latest_[received.number][received.connection] = received.end_ns;
      }
      last_ns_ = received.end_ns;
    }
    std::int64_t met_ns = 0;
    for (const auto& [connection, end_ns] : latest_[sent.number]) {
      met_ns = connection != sent.connection ? std::max(met_ns, end_ns) : met_ns;
    }
    return met_ns > 0 ? met_ns : last_ns_;
  }

 private:
  std::vector<const Exchange*> received_;
  std::size_t next_ = 0;
  std::map<std::int64_t, std::map<std::int64_t, std::int64_t>> latest_;  // by number, connection
  std::int64_t last_ns_ = 0;
};

}  // namespace

std::vector<StageCompute> thoughts_of(const std::vector<Exchange>& exchanges) {
  Needs needs(exchanges);
  std::vector<StageCompute> thoughts;
  std::int64_t before_ns = 0;
  for (const Exchange* sent : of_kind(exchanges, CollectiveKind::Send)) {
    const std::int64_t since_ns = std::max(before_ns, needs.met_ns(*sent));
    if (since_ns > 0) {
      thoughts.push_back({sent, static_cast<double>(sent->own_ready_ns - since_ns)});
    }
    before_ns = sent->own_ready_ns;
  }
  return thoughts;
}

}  // namespace chokepoint::analysis
