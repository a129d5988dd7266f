// The process groups of a job as all its ranks' dumps show them, and how far each rank has come in
// one.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "analysis/evidence/wait_graph.h"

namespace chokepoint::analysis {

using RankIndex = std::uint32_t;  // of a rank in a Numbering

// Ranks by numbers of their own, from 0 on, with those that left no dump behind them.
class Numbering {
 public:
  explicit Numbering(const std::vector<RankState>& ranks) {
    for (const RankState& each : ranks) {
      add(each.rank);
    }
    dumped_ = ranks_.size();
  }

  RankIndex add(std::int64_t rank) {
    const auto [found, is_new] = by_rank_.emplace(rank, static_cast<RankIndex>(ranks_.size()));
    if (is_new) {
      ranks_.push_back(rank);
    }
    return found->second;
  }

  std::int64_t rank(RankIndex index) const { return ranks_[index]; }
  bool has_dump(RankIndex index) const { return index < dumped_; }
  std::size_t size() const { return ranks_.size(); }
  std::size_t dumped() const { return dumped_; }

  std::vector<std::int64_t> ranks_of(const std::set<RankIndex>& indices) const {
    std::vector<std::int64_t> ranks;
    for (const RankIndex index : indices) {
      ranks.push_back(ranks_[index]);
    }
    std::ranges::sort(ranks);
    return ranks;
  }

 private:
  std::map<std::int64_t, RankIndex> by_rank_;
  std::vector<std::int64_t> ranks_;
  std::size_t dumped_ = 0;
};

// One process group as all dumps show it.
struct ProcessGroup {
  struct Member {
    RankIndex rank = 0;
    const GroupState* state = nullptr;  // null: it has no dump, or none of this group
  };

  std::string name = {};
  std::string label = {};
  std::vector<Member> members = {};
  std::map<RankIndex, const GroupState*> states = {};
  std::vector<std::int64_t> order = {};  // of members as the job numbers them; empty: unknown
  bool has_messages = false;

  std::string text() const;  // "group 0 (default_pg)"
};

// Of all groups that a dump names. Members without a dump are added to the numbering.
std::vector<ProcessGroup> groups_of(const std::vector<RankState>& ranks, Numbering& numbering);

// A status counts messages, too, so that of a group with both the entries alone are believed.
std::int64_t called_of(const ProcessGroup& group, const GroupState& state);
std::int64_t completed_of(const ProcessGroup& group, const GroupState& state);

// The first that the rank has not ended, and its number; null: none.
const Call* open_call_of(const GroupState& state, std::int64_t& number);

}  // namespace chokepoint::analysis
