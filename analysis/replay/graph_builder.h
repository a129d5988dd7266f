// What graph.cc and messages.cc put a graph together with: an exchange's moments by its place, and
// arcs between them. One thread; borrowed input.
#pragma once

#include <map>

#include "analysis/phases/overlap.h"
#include "analysis/replay/graph.h"

namespace chokepoint::analysis {

class GraphBuilder {
 public:
  explicit GraphBuilder(const GraphInput& input);

  const GraphInput& input() const { return input_; }
  // Between the first settled step and the last.
  bool is_inside(const Exchange& exchange) const;
  std::size_t ready_of(Part part) const { return 2 * (base_[part.list] + part.place); }
  std::size_t end_of(Part part) const { return ready_of(part) + 1; }
  std::int64_t t_ns(std::size_t moment) const { return graph_.moments[moment].t_ns; }
  // Of an exchange's part, given by its end: the ends of all its ranks' parts.
  std::vector<std::size_t> ends_with(std::size_t end) const;

  void add(std::size_t to, const Arc& arc) { graph_.moments[to].arcs.push_back(arc); }
  // Waits for the moment, and for as long after it as recorded; not below 0.
  void add_since(std::size_t to, std::size_t from, Cost cost, std::int64_t late_ns = 0);
  // A moment of its own, which comes at t_ns.
  std::size_t add_moment(std::int64_t t_ns);
  // When the last of these has come.
  std::size_t add_last_of(const std::vector<std::size_t>& moments);
  std::size_t add_transfer(const Transfer& transfer);
  // Of a collective: the ring that its ranks make.
  std::size_t add_collective(const Meeting& meeting);
  // Of an exchange that others replace.
  void drop(Part part);

  // nullopt where moments wait for each other.
  std::optional<RunGraph> finish();

 private:
  void note_steps();

  const GraphInput& input_;
  std::vector<std::size_t> base_;  // of each list, the number of its first exchange
  std::map<std::size_t, std::vector<std::size_t>> ends_with_ = {};
  std::map<RankRing, std::size_t> places_of_rings_ = {};
  RunGraph graph_;
};

// By how much each exchange's rank came late to it, in ns; by its place.
class LateBy {
 public:
  explicit LateBy(const GraphInput& input);

  std::int64_t at(Part part) const;

 private:
  std::vector<std::vector<std::int64_t>> ns_;  // by list and place
};

Transfer transfer_of(const Exchanges& exchanges, const Meeting& meeting);

// buckets.cc: which collectives carry a backward pass's gradients, and the buckets in their place.
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

// Whether the rank has messages under way while it computes or waits for others: it announces what
// it will receive ahead of time.
bool announces_ahead(const std::vector<Exchange>& exchanges);

// messages.cc: of a rank of a pipeline that announces what it will receive.
void add_stage(GraphBuilder& builder, std::size_t list, const LateBy& late);
// messages.cc: of a message, both of whose ends are known; `before`: the one before it on the same
// way, whose data had to pass first.
void add_message(GraphBuilder& builder, Part sent, Part received, std::optional<Part> before);

}  // namespace chokepoint::analysis
