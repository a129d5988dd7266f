#include "capture/source/interface_choice.h"

#include <algorithm>
#include <map>
#include <utility>

namespace chokepoint::capture::source {
namespace {

// No host stacks more devices than this.
constexpr int kDeepest = 8;

using ByName = std::map<std::string, const InterfaceFacts*>;

std::string joined(const std::vector<InterfaceFacts>& all) {
  std::string names;
  for (const InterfaceFacts& facts : all) {
    names += (names.empty() ? "" : ", ") + facts.name;
  }
  return names;
}

bool is_any(const std::vector<std::string>& names) {
  return names.empty() || std::ranges::find(names, "any") != names.end();
}

bool are_ends_of_a_pair(const InterfaceFacts& one, const InterfaceFacts& other) {
  return one.index != other.index && one.index == other.link_index && other.index == one.link_index;
}

// Nobody else on this host is at its other end.
bool leads_out(const InterfaceFacts& facts) { return facts.index == facts.link_index; }

class Choosing {
 public:
  explicit Choosing(const std::vector<InterfaceFacts>& all) {
    for (const InterfaceFacts& facts : all) {
      all_[facts.name] = &facts;
    }
  }

  Result<> by_name(const std::vector<InterfaceFacts>& all, const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      const auto found = all_.find(name);
      if (found == all_.end()) {
        return fail(ErrorKind::NotFound, "listen", name, "no such interface",
                    "there are " + joined(all));
      }
      chosen_.insert(*found);
    }
    return {};
  }

  void all_that_are_up() {
    for (const auto& [name, facts] : all_) {
      if (facts->up && !name.starts_with("ifb")) {
        chosen_.emplace(name, facts);
      } else if (facts->up) {
        remarks_.push_back(name + " is left out: it repeats what other interfaces saw");
      }
    }
  }

  void leave_out_what_counts_twice() {
    for (const auto& [name, facts] : all_) {
      if (facts->kind == InterfaceKind::Bridge && chosen_.contains(name)) {
        settle_bridge(*facts);
      }
    }
    for (const auto& [name, facts] : all_) {
      if (facts->kind == InterfaceKind::Other && chosen_.contains(name)) {
        settle_upper(*facts);
      }
    }
    settle_pairs();
  }

  InterfaceChoice result() && {
    InterfaceChoice choice{.remarks = std::move(remarks_)};
    for (const auto& [name, facts] : chosen_) {
      choice.interfaces.push_back(*facts);
    }
    return choice;
  }

 private:
  void leave_out(const std::string& name, const std::string& why) {
    if (chosen_.erase(name) > 0) {
      remarks_.push_back(name + " is left out: " + why);
    }
  }

  bool is_chosen_way_out(const std::string& name) const {
    const auto found = chosen_.find(name);
    return found != chosen_.end() && leads_out(*found->second);
  }

  void settle_bridge(const InterfaceFacts& bridge) {
    const auto way_out = std::ranges::find_if(
        bridge.stands_on, [&](const std::string& port) { return is_chosen_way_out(port); });
    const bool keep_bridge = way_out == bridge.stands_on.end();
    const std::string& kept = keep_bridge ? bridge.name : *way_out;
    for (const std::string& port : bridge.stands_on) {
      if (keep_bridge || !is_chosen_way_out(port)) {
        leave_out(port, "packets that pass the bridge " + bridge.name + " are seen on " + kept);
      }
    }
    if (!keep_bridge) {
      leave_out(bridge.name, "its packets are seen on its port " + kept);
    }
  }

  std::vector<std::string> lower_that_are_up(const InterfaceFacts& upper) const {
    std::vector<std::string> lower;
    std::ranges::copy_if(upper.stands_on, std::back_inserter(lower), [&](const std::string& name) {
      const auto found = all_.find(name);
      return found != all_.end() && found->second->up;
    });
    return lower;
  }

  // Listened on itself, or all that it stands on is: a bond's slaves for a VLAN on the bond.
  bool is_seen(const std::string& name, int depth = 0) const {
    if (chosen_.contains(name) || depth == kDeepest) {
      return chosen_.contains(name);
    }
    const auto lower = lower_that_are_up(*all_.at(name));
    return !lower.empty() && std::ranges::all_of(lower, [&](const std::string& one) {
      return is_seen(one, depth + 1);
    });
  }

  void settle_upper(const InterfaceFacts& upper) {
    const auto lower = lower_that_are_up(upper);
    const auto seen = [&](const std::string& name) { return is_seen(name); };
    if (lower.empty() || std::ranges::none_of(lower, seen)) {
      return;
    }
    if (std::ranges::all_of(lower, seen)) {
      leave_out(upper.name, "its packets are seen on what it stands on");
      return;
    }
    for (const std::string& name : lower) {
      leave_out(name, "its packets are seen on " + upper.name);
    }
  }

  void settle_pairs() {
    const ByName candidates = chosen_;
    for (const auto& [name, one] : candidates) {
      for (const auto& [other_name, other] : candidates) {
        if (name < other_name && are_ends_of_a_pair(*one, *other)) {
          leave_out(other_name, "it is the other end of " + name);
        }
      }
    }
  }

  ByName all_;
  ByName chosen_;
  std::vector<std::string> remarks_;
};

}  // namespace

Result<InterfaceChoice> choose_interfaces(const std::vector<InterfaceFacts>& all,
                                          const std::vector<std::string>& names) {
  Choosing choosing(all);
  if (is_any(names)) {
    choosing.all_that_are_up();
  } else if (auto known = choosing.by_name(all, names); !known) {
    return fail(std::move(known.error()));
  }
  choosing.leave_out_what_counts_twice();
  return std::move(choosing).result();
}

}  // namespace chokepoint::capture::source
