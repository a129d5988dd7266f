// What graph.cc, buckets.cc and messages.cc make a graph with: an exchange's moments by its place,
// and arcs between them. One thread; borrowed input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

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
  std::size_t list_of(std::size_t moment) const { return graph_.moments[moment].list; }
  // Of an exchange's part, given by its end: the ends of all its ranks' parts.
  std::vector<std::size_t> ends_with(std::size_t end) const;

  void add(std::size_t to, const Arc& arc) { graph_.moments[to].arcs.push_back(arc); }
  // Waits for the moment, and for as long after it as recorded; not below 0.
  void add_since(std::size_t to, std::size_t from, Cost cost, std::int64_t late_ns = 0);
  // A moment of its own of that list's rank, which comes at t_ns.
  std::size_t add_moment(std::size_t list, std::int64_t t_ns);
  // When the last of these, all of one rank, has come.
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

}  // namespace chokepoint::analysis
