// doctor --apply-plan: what doctor advises, as a script that a person reads and runs. Only commands
// of which the value before is known go into it; all others stand in it as comments.
#include "probe/host/apply_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/cli/text.h"
#include "base/host/network.h"

namespace chokepoint::probe {
namespace {

using Words = std::vector<std::string>;

Words words_of(const std::string& command) {
  std::istringstream text(command);
  Words words;
  for (std::string word; text >> word;) {
    words.push_back(word);
  }
  return words;
}

// Whether a shell would take the command as plain words; others are left to the reader.
bool is_plain(std::string_view command) {
  return command.find_first_of(";|&#$`<>()'\"\\\n*?") == std::string_view::npos;
}

// "4096 87380 6291456" of net.ipv4.tcp_rmem.
std::optional<std::string> sysctl_value(const sys::Root& root, std::string name) {
  std::ranges::replace(name, '.', '/');
  const auto text = root.read("/proc/sys/" + name);
  const Words words = words_of(text.value_or(""));
  if (words.empty()) {
    return std::nullopt;
  }
  std::string value;
  for (const std::string& word : words) {
    value += (value.empty() ? "" : " ") + word;
  }
  return is_plain(value) ? std::optional(value) : std::nullopt;
}

// The names in "sysctl -w A=1 B='4096 131072 8388608'"; empty where it is anything else.
Words sysctls_in(std::string_view command) {
  constexpr std::string_view kSet = "sysctl -w ";
  Words names;
  if (!command.starts_with(kSet)) {
    return names;
  }
  for (std::string_view left = command.substr(kSet.size()); !left.empty();) {
    const std::size_t equals = left.find('=');
    const std::string_view name = left.substr(0, equals);
    if (equals == std::string_view::npos || !is_plain(name)) {
      return {};
    }
    left.remove_prefix(equals + 1);
    const bool is_quoted = left.starts_with('\'');
    const std::size_t end = is_quoted ? left.find('\'', 1) : left.find(' ');
    if (!is_plain(left.substr(is_quoted ? 1 : 0, end - (is_quoted ? 1 : 0)))) {
      return {};
    }
    names.emplace_back(name);
    left.remove_prefix(std::min(end, left.size()));
    left.remove_prefix(is_quoted && !left.empty() ? 1 : 0);
    left.remove_prefix(left.starts_with(' ') ? 1 : 0);
  }
  return names;
}

// "sysctl -w A='0' B='4096 131072 6291456'": as they are now.
std::optional<std::string> undo_sysctl(const Words& names, const sys::Root& root) {
  std::string undo = "sysctl -w";
  for (const std::string& name : names) {
    const auto before = sysctl_value(root, name);
    if (!before) {
      return std::nullopt;
    }
    undo += fmt::format(" {}='{}'", name, *before);
  }
  return undo;
}

std::optional<std::int64_t> ring_before(const net::Rings& rings, std::string_view name) {
  return name == "rx" ? rings.rx : name == "tx" ? rings.tx : std::nullopt;
}

std::optional<std::int64_t> channels_before(const net::Channels& channels, std::string_view name) {
  return name == "combined" ? channels.combined
         : name == "rx"     ? channels.rx
         : name == "tx"     ? channels.tx
                            : std::nullopt;
}

// The other of "on" and "off"; nullopt of anything else.
std::optional<std::string> opposite(std::string_view state) {
  return state == "on"    ? std::optional<std::string>("off")
         : state == "off" ? std::optional<std::string>("on")
                          : std::nullopt;
}

// "ethtool -G eth0 rx 8192": what stood there before, of rings, channels, features, coalescing.
std::optional<std::string> undo_ethtool(const Words& words, const host::Network& network) {
  if (words.size() < 5 || words.size() % 2 == 0) {
    return std::nullopt;
  }
  const host::Nic* nic = host::find(network, words[2]);
  if (nic == nullptr) {
    return std::nullopt;
  }
  std::string undo = fmt::format("ethtool {} {}", words[1], words[2]);
  for (std::size_t at = 3; at < words.size(); at += 2) {
    std::optional<std::string> before;
    if (words[1] == "-K" || words[1] == "-C") {
      before = opposite(words[at + 1]);
    } else {
      const auto number = words[1] == "-G" && nic->settings.rings
                              ? ring_before(*nic->settings.rings, words[at])
                          : words[1] == "-L" && nic->settings.channels
                              ? channels_before(*nic->settings.channels, words[at])
                              : std::nullopt;
      before = number ? std::optional(std::to_string(*number)) : std::nullopt;
    }
    if (!before) {
      return std::nullopt;
    }
    undo += fmt::format(" {} {}", words[at], *before);
  }
  return undo;
}

// "ip link set eth0 mtu 9000"
std::optional<std::string> undo_mtu(const Words& words, const host::Network& network) {
  const host::Nic* nic = words.size() == 6 ? host::find(network, words[3]) : nullptr;
  return nic != nullptr && words[4] == "mtu" && nic->mtu
             ? std::optional(fmt::format("ip link set {} mtu {}", words[3], *nic->mtu))
             : std::nullopt;
}

std::optional<std::string> undo_of(const std::string& command, const host::Network& network,
                                   const sys::Root& root) {
  if (const Words names = sysctls_in(command); !names.empty()) {
    return undo_sysctl(names, root);
  }
  const Words words = words_of(command);
  if (!is_plain(command) || words.size() < 3) {
    return std::nullopt;
  }
  if (words[0] == "ethtool") {
    return undo_ethtool(words, network);
  }
  return words[0] == "ip" && words[1] == "link" && words[2] == "set" ? undo_mtu(words, network)
                                                                     : std::nullopt;
}

std::string comment_on(const Check& check) {
  std::string text = fmt::format("{} {} {}: {}", name_of(check.status), check.id, check.subject,
                                 check.found.empty() ? "not known" : check.found);
  text += check.wanted.empty() ? "" : ", wanted " + check.wanted;
  return cli::printable(text);
}

}  // namespace

std::string apply_plan(const host::Inventory& inventory, const Checks& checks,
                       const sys::Root& root) {
  std::string apply;
  std::string undo;
  std::string by_hand;
  for (const Check& check : checks) {
    if (check.status == Status::Pass || check.next_step.empty()) {
      continue;
    }
    const auto before = undo_of(check.next_step, inventory.network, root);
    if (before) {
      apply += fmt::format("    # {}\n    {}\n", comment_on(check), check.next_step);
      undo = fmt::format("    {}\n", *before) + undo;
    } else if (check.status >= Status::Warning) {
      by_hand += fmt::format("# {}\n#   {}\n", comment_on(check), cli::printable(check.next_step));
    }
  }
  const std::string nothing = "    :\n";
  return fmt::format(
      R"(#!/bin/sh
# What 'chokepoint doctor' would change on {0}. Read it, then, as root:
#   sh FILE apply    makes these changes; none of them lasts over a reboot
#   sh FILE undo     puts back what doctor found
# Does it help? With 'chokepoint serve' on another host, as root:
#   chokepoint probe tcp PEER --until-sure --setup 'sh FILE undo' --setup 'sh FILE apply'
set -eu
case ${{1-}} in
  apply)
{1}    ;;
  undo)
{2}    ;;
  *)
    echo "usage: sh $0 apply|undo" >&2
    exit 2
    ;;
esac
{3}{4})",
      cli::printable(inventory.own_name.name.value_or("this host")),
      apply.empty() ? nothing : apply, undo.empty() ? nothing : undo,
      by_hand.empty() ? "" : "\n# Left to you, because this script could not take it back:\n",
      by_hand);
}

}  // namespace chokepoint::probe
