#include "analysis/evidence/wait_sinks.h"

#include <algorithm>
#include <limits>

namespace chokepoint::analysis {
namespace {

using Node = std::uint32_t;

// Tarjan's strongly connected components, without recursion.
class Components {
 public:
  explicit Components(const std::vector<std::vector<Node>>& next)
      : next_(next),
        seen_(next.size(), kUnseen),
        low_(next.size(), 0),
        at_(next.size(), 0),
        component_(next.size(), kUnseen) {
    for (Node start = 0; start < next_.size(); ++start) {
      if (seen_[start] == kUnseen) {
        path_.push_back(start);
        walk();
      }
    }
  }

  const std::vector<std::vector<Node>>& all() const { return components_; }
  std::size_t of(Node node) const { return component_[node]; }

 private:
  static constexpr std::size_t kUnseen = std::numeric_limits<std::size_t>::max();

  void walk() {
    while (!path_.empty()) {
      const Node here = path_.back();
      if (seen_[here] == kUnseen) {
        seen_[here] = low_[here] = clock_++;
        open_.push_back(here);
      }
      if (at_[here] < next_[here].size()) {
        go_to(next_[here][at_[here]++], here);
      } else {
        leave(here);
      }
    }
  }

  void go_to(Node to, Node here) {
    if (seen_[to] == kUnseen) {
      path_.push_back(to);
    } else if (component_[to] == kUnseen) {
      low_[here] = std::min(low_[here], seen_[to]);
    }
  }

  void leave(Node here) {
    path_.pop_back();
    if (!path_.empty()) {
      low_[path_.back()] = std::min(low_[path_.back()], low_[here]);
    }
    if (low_[here] != seen_[here]) {
      return;
    }
    components_.emplace_back();
    for (bool is_last = false; !is_last;) {
      const Node member = open_.back();
      open_.pop_back();
      component_[member] = components_.size() - 1;
      components_.back().push_back(member);
      is_last = member == here;
    }
  }

  const std::vector<std::vector<Node>>& next_;
  std::vector<std::size_t> seen_;  // when it was; kUnseen: not yet
  std::vector<std::size_t> low_;
  std::vector<std::size_t> at_;  // the next of its edges
  std::vector<std::size_t> component_;
  std::vector<Node> open_;
  std::vector<Node> path_;
  std::vector<std::vector<Node>> components_;
  std::size_t clock_ = 0;
};

}  // namespace

std::vector<std::vector<std::uint32_t>> sinks_of(
    const std::vector<std::set<std::uint32_t>>& edges) {
  std::vector<std::vector<Node>> next(edges.size());
  std::vector<bool> is_waited_for(edges.size(), false);
  for (Node from = 0; from < edges.size(); ++from) {
    next[from].assign(edges[from].begin(), edges[from].end());
    for (const Node to : next[from]) {
      is_waited_for[to] = true;
    }
  }
  const Components components(next);
  std::vector<std::vector<Node>> sinks;
  for (const std::vector<Node>& members : components.all()) {
    const std::size_t own = components.of(members.front());
    const bool leaves = std::ranges::any_of(members, [&](Node member) {
      return std::ranges::any_of(next[member], [&](Node to) { return components.of(to) != own; });
    });
    if (!leaves && (members.size() > 1 || is_waited_for[members.front()])) {
      sinks.push_back(members);
    }
  }
  return sinks;
}

}  // namespace chokepoint::analysis
