// Gradients in other buckets. Collectives of a step that follow each other without waiting are one
// backward pass; its bytes are divided anew, and each bucket is ready when its share of the pass
// is computed:
//
//   recorded   computes ────────────────┤ bucket 1 ├ bucket 2 ┤
//   then       computes ─────────┤ 1 ┤──┤ 2 ┤──┤ 3 ┤──┤ 4 ┤
//
// Only passes that are the same on all their ranks are cut; the last bucket is whole when computing
// ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "analysis/phases/overlap.h"
#include "analysis/replay/graph_builder.h"

namespace chokepoint::analysis {

// Which collectives carry a backward pass's gradients, and the buckets in their place.
class BucketPlan {
 public:
  // A rank's part in a pass: its collectives, from first to last of its line.
  struct Pass {
    std::size_t number = 0;  // of the pass, the same for all ranks
    std::size_t first = 0;
    std::size_t count = 0;
  };

  BucketPlan(GraphBuilder& builder, const std::vector<Line>& lines);

  // The pass that begins there; nullptr: these collectives stay as they are.
  const Pass* at(std::size_t list, std::size_t first) const;
  // Whether there are passes at all, and most collectives' bytes are in them.
  bool covers_most_bytes() const { return covers_most_bytes_; }
  bool is_replaced(std::size_t meeting) const { return is_replaced_[meeting]; }

  // The rank computes for `computing_ns` after `over`, `backward` of it in the backward pass.
  // Returns the ends of its buckets.
  std::vector<std::size_t> add(const Pass& pass, std::size_t over, double computing_ns,
                               double backward_ns, std::int64_t late_ns);
  // The exchange of each bucket among the ranks that were added.
  void finish();

 private:
  struct Exchanged {
    Transfer like = {};                                // the largest bucket as it was
    std::vector<double> bytes = {};                    // of each new one, as rows have them
    std::vector<double> made = {};                     // share of the gradients when each is whole
    std::vector<std::vector<std::size_t>> ready = {};  // of each rank, by bucket
    std::vector<std::vector<std::size_t>> ends = {};
  };
  Exchanged exchanged_by(const std::vector<std::size_t>& meetings) const;

  GraphBuilder& builder_;
  std::vector<bool> is_replaced_;                         // by meeting
  std::vector<std::map<std::size_t, Pass>> passes_ = {};  // of each list, by first
  std::vector<Exchanged> exchanged_ = {};                 // by pass
  bool covers_most_bytes_ = false;
};

}  // namespace chokepoint::analysis
