#include "capture/source/network_interfaces.h"

#include <fcntl.h>
#include <net/if.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <string_view>
#include <utility>

namespace chokepoint::capture::source {
namespace {

constexpr std::string_view kFolder = "/sys/class/net";
constexpr std::string_view kLower = "lower_";

InterfaceKind kind_of(const sys::Root& root, const std::string& folder) {
  const std::string words = root.text(folder + "/uevent").value_or("");
  if (root.exists(folder + "/bridge")) {
    return InterfaceKind::Bridge;
  }
  const bool tunnel = words.find("DEVTYPE=vxlan") != std::string::npos ||
                      words.find("DEVTYPE=geneve") != std::string::npos;
  return tunnel ? InterfaceKind::Tunnel : InterfaceKind::Other;
}

bool is_up(const sys::Root& root, const std::string& folder) {
  const std::string flags = root.text(folder + "/flags").value_or("0");
  return (std::strtoul(flags.c_str(), nullptr, 16) & IFF_UP) != 0;
}

std::optional<std::int64_t> speed_of(const sys::Root& root, const std::string& folder) {
  const auto speed = root.number(folder + "/speed");
  return speed.value_or(0) > 0 ? speed : std::nullopt;
}

// No host stacks more devices than this.
constexpr int kMaxDepth = 8;

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

  void leave_out_duplicates() {
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

  // It is listened on, or all of its lower interfaces are: a bond's slaves for a VLAN on the bond.
  bool is_seen(const std::string& name, int depth = 0) const {
    if (chosen_.contains(name) || depth == kMaxDepth) {
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

constexpr std::uint64_t kUnknownSpeedMbps = 10'000;
constexpr std::uint64_t kUnknownMtu = 1500;
// Preamble, Ethernet header, checksum and gap.
constexpr std::uint64_t kWireOverhead = 38;
// What TPACKET_V3 puts before each packet, with its alignment.
constexpr std::uint64_t kRingOverhead = 96;
constexpr std::uint64_t kDirections = 2;
constexpr std::uint64_t kAwayMs = 100;

}  // namespace

std::vector<InterfaceFacts> read_interfaces(const sys::Root& root) {
  std::vector<InterfaceFacts> all;
  for (const std::string& name : root.list(kFolder)) {
    const std::string folder = std::string(kFolder) + "/" + name;
    const auto index = root.number(folder + "/ifindex");
    if (!index) {
      continue;
    }
    InterfaceFacts facts{
        .name = name,
        .kind = kind_of(root, folder),
        .up = is_up(root, folder),
        .mtu = static_cast<std::uint32_t>(root.number(folder + "/mtu").value_or(0)),
        .speed_mbps = speed_of(root, folder),
        .index = *index,
        .link_index = root.number(folder + "/iflink").value_or(*index)};
    for (const std::string& entry : root.list(folder)) {
      if (entry.starts_with(kLower)) {
        facts.stands_on.push_back(entry.substr(kLower.size()));
      }
    }
    all.push_back(std::move(facts));
  }
  return all;
}

Result<InterfaceChoice> choose_interfaces(const std::vector<InterfaceFacts>& all,
                                          const std::vector<std::string>& names) {
  Choosing choosing(all);
  if (is_any(names)) {
    choosing.all_that_are_up();
  } else {
    TRY(choosing.by_name(all, names));
  }
  choosing.leave_out_duplicates();
  return std::move(choosing).result();
}

InterfaceDrops InterfaceDrops::of(const sys::Root& root, const std::string& interface) {
  InterfaceDrops drops;
  const std::string folder = "/sys/class/net/" + interface + "/statistics/";
  for (const char* counter : {"rx_missed_errors", "rx_fifo_errors"}) {
    sys::Descriptor descriptor(open(root.at(folder + counter).c_str(), O_RDONLY | O_CLOEXEC));
    if (descriptor) {
      drops.counters_.push_back(std::move(descriptor));
    }
  }
  drops.before_ = drops.total();
  return drops;
}

std::uint64_t InterfaceDrops::total() const {
  std::uint64_t sum = 0;
  for (const sys::Descriptor& counter : counters_) {
    std::array<char, 32> text{};
    if (pread(counter.get(), text.data(), text.size() - 1, 0) > 0) {
      sum += std::strtoull(text.data(), nullptr, 10);
    }
  }
  return sum;
}

// Counters of an interface that is gone read as 0: the result never becomes negative.
std::uint64_t InterfaceDrops::newly_dropped() {
  const std::uint64_t now = total();
  const std::uint64_t before = std::exchange(before_, std::max(now, before_));
  return before_ - before;
}

std::uint64_t ring_size(const InterfaceFacts& interface, std::uint32_t snapshot_bytes) {
  const std::uint64_t mbps =
      interface.speed_mbps ? static_cast<std::uint64_t>(*interface.speed_mbps) : kUnknownSpeedMbps;
  const std::uint64_t frame = (interface.mtu > 0 ? interface.mtu : kUnknownMtu) + kWireOverhead;
  const std::uint64_t bytes_per_ms = mbps * 1000 / 8;
  const std::uint64_t packets = kDirections * kAwayMs * bytes_per_ms / frame;
  const std::uint64_t stored = std::min<std::uint64_t>(snapshot_bytes, frame) + kRingOverhead;
  const std::uint64_t bytes = std::clamp(packets * stored, kMinRingBytes, kMaxRingBytes);
  return (bytes + kRingBlockBytes - 1) / kRingBlockBytes * kRingBlockBytes;
}

}  // namespace chokepoint::capture::source
