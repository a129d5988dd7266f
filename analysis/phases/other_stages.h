// What a stage of a pipeline would compute for a message if it were as quick as the others: as the
// stages at its place in pipelines side by side, which do the same. Where there are none, for a
// micro-batch all stages compute about as long, forward and backward. Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "analysis/phases/pipeline.h"

namespace chokepoint::analysis {

using DirectedPath =
    std::tuple<std::int64_t, std::size_t, std::int64_t>;  // connection, sender: node, rank

DirectedPath path_of(const StageCompute& compute);

using UsualComputes = std::map<DirectedPath, double>;  // nanoseconds

// `computes`: by list.
UsualComputes usual_computes(const std::vector<std::vector<StageCompute>>& computes);

class OtherStages {
 public:
  // `usual` must outlive it.
  OtherStages(const std::vector<std::vector<StageCompute>>& computes, const UsualComputes& usual,
              const std::vector<PipelineEnds>& pipelines);

  // nullopt where the stage is about as quick.
  std::optional<double> allowed_ns(std::size_t stage, const StageCompute& compute) const;

 private:
  // In how long a pipeline, how far from its first stage, and whether towards the last one.
  using Place = std::tuple<std::size_t, std::size_t, bool>;
  // What a path's messages took.
  struct Computes {
    std::vector<double> after_receiving = {};  // since the sender's last message
    std::vector<double> going_on = {};
  };
  using ComputesAt = std::map<Place, std::map<DirectedPath, Computes>>;
  // The same, usually.
  struct Usual {
    double ns = 0;
    std::optional<double> after_receiving_ns = {};
    std::optional<double> going_on_ns = {};
  };

  static void add_places(const PipelineEnds& ends,
                         const std::vector<std::vector<StageCompute>>& computes, ComputesAt& at);
  void add_same_place(const std::map<DirectedPath, Computes>& paths);
  void add_passes(const PipelineEnds& ends, const std::vector<std::vector<StageCompute>>& computes);
  std::optional<double> by_pass(std::size_t stage, const StageCompute& compute) const;
  std::optional<double> pass_ns(const std::vector<StageCompute>& computes, std::size_t stage,
                                const PipelineEnds& ends) const;

  const UsualComputes& usual_;
  std::map<DirectedPath, Usual> same_place_;        // of other pipelines
  std::map<std::size_t, bool> is_first_;            // by stage
  std::map<std::size_t, double> expected_pass_ns_;  // by stage, of its pipeline's others
};

}  // namespace chokepoint::analysis
