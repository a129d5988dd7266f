// Who waits in what for whom, of ranks whose groups are known (wait_graph.h has the rules). Pure.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analysis/evidence/wait_groups.h"

namespace chokepoint::analysis {

inline constexpr std::int64_t kNoTime = std::numeric_limits<std::int64_t>::max();

// What one or more ranks wait in, and for whom.
struct Wait {
  const ProcessGroup* group = nullptr;
  std::string call = {};  // "all_reduce 101", "recv 0<-8"
  std::set<RankIndex> waiting = {};
  std::set<RankIndex> missing = {};  // have not come
  std::set<RankIndex> unended = {};  // have not ended what others have
  std::int64_t created_ns = kNoTime;
  bool is_message = false;
};

// A call that a rank has begun and not ended, or not begun on its GPU, where others have.
struct Unended {
  RankIndex rank = 0;
  const ProcessGroup* group = nullptr;
  const Call* call = nullptr;
  std::int64_t number = 0;
  bool is_unbegun = false;  // its GPU has not begun it
};

class Waits {
 public:
  explicit Waits(const std::vector<RankState>& ranks);

  const Numbering& numbering() const { return numbering_; }
  const std::vector<ProcessGroup>& groups() const { return groups_; }
  const std::vector<Wait>& all() const { return waits_; }
  const std::vector<std::set<RankIndex>>& edges() const {
    return edges_;
  }  // from who waits to whom
  const std::vector<Unended>& unended() const { return unended_; }
  // Whether it has not ended, or not begun, what others have.
  bool is_behind(RankIndex rank) const { return lags_[rank]; }

 private:
  struct Open;

  void find_lags();
  bool is_in_begun_call(RankIndex index) const;
  void add_collectives(const ProcessGroup& group);
  void add_collective(const ProcessGroup& group, std::int64_t number, const Open& open);
  void add_messages(const ProcessGroup& group);
  void add_message(const ProcessGroup& group, RankIndex index, RankIndex peer,
                   const Message& message);
  void add_edges(const Wait& wait);
  void add_waits_of_the_same_call();
  std::optional<RankIndex> peer_of(const ProcessGroup& group, std::int64_t number) const;

  const std::vector<RankState>& ranks_;
  Numbering numbering_;
  std::vector<ProcessGroup> groups_;
  std::vector<Wait> waits_;
  std::vector<std::set<RankIndex>> edges_;
  std::vector<bool> lags_;
  std::vector<Unended> unended_;
  std::vector<std::pair<RankIndex, RankIndex>> meetings_;  // messages that both ends have begun
};

}  // namespace chokepoint::analysis
