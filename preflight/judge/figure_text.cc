#include "preflight/judge/figure_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string_view>

#include "base/math/units.h"

namespace chokepoint::preflight {
namespace {

constexpr std::string_view kPlain = "_-./=:,@%+";

bool is_plain(const std::string& word) {
  return !word.empty() && std::ranges::all_of(word, [](unsigned char letter) {
    return std::isalnum(letter) != 0 ||
           kPlain.find(static_cast<char>(letter)) != std::string_view::npos;
  });
}

constexpr std::size_t kMaxNamedHosts = 4;
constexpr std::size_t kMaxPaths = 10'000;

std::string port_of(const ClusterInput& input, HostIndex host) {
  const std::string interface = input.interface_name(host);
  return interface.empty() ? input.name(host) : input.name(host) + " " + interface;
}

std::string direction_of(const FaultLocation& location) {
  if (location.sends && location.receives) {
    return "";
  }
  return location.sends ? ", sending" : ", receiving";
}

std::string look_at(const ClusterInput& input, HostIndex host) {
  const std::string interface = input.interface_name(host);
  if (interface.empty()) {
    return on_host(input.name(host), "ip -s link");
  }
  const std::string name = interface.starts_with('-') ? "INTERFACE" : shell_word(interface);
  return on_host(
      input.name(host),
      fmt::format("ethtool {0}; ethtool -S {0} | grep -iE 'err|crc|drop|disc|pause'", name));
}

}  // namespace

std::string shell_word(const std::string& word) {
  if (is_plain(word)) {
    return word;
  }
  std::string text = "'";
  for (const char letter : word) {
    text += letter == '\'' ? "'\\''" : std::string(1, letter);
  }
  return text + "'";
}

// A name that begins with a dash would be an option.
std::string on_host(const std::string& host, const std::string& command) {
  return std::string("ssh ") + (host.starts_with('-') ? "-- " : "") + shell_word(host) + " " +
         shell_word(command);
}

std::string with_note(const std::string& command, const std::string& note) {
  return note.empty() ? command : command + std::string(kNote) + note;
}

std::string names_of(const ClusterInput& input, std::span<const HostIndex> hosts) {
  std::string text;
  const std::size_t named = hosts.size() <= kMaxNamedHosts + 1 ? hosts.size() : kMaxNamedHosts;
  for (std::size_t index = 0; index < named; ++index) {
    text += (index == 0 ? "" : ", ") + input.name(hosts[index]);
  }
  return named == hosts.size() ? text : fmt::format("{} and {} more", text, hosts.size() - named);
}

std::string words_for(const ClusterInput& input, const DirectedPath& path) {
  return fmt::format("from {} to {}", input.name(path.from), input.name(path.to));
}

std::string rate_words(double mbps) { return math::format_rate(mbps * 1e6); }

std::string counted(std::size_t number, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", number, number == 1 ? one : many);
}

std::string subject_of(const ClusterInput& input, const FaultLocation& location) {
  switch (location.place) {
    case Place::Port:
      return port_of(input, location.hosts[0]) + direction_of(location);
    case Place::Uplink:
      return fmt::format("between {} and {}", names_of(input, location.hosts),
                         names_of(input, location.others));
    case Place::Pair:
      return fmt::format("between {} and {}", input.name(location.hosts[0]),
                         input.name(location.hosts[1]));
    case Place::DirectedPath:
      return fmt::format("from {} to {}", input.name(location.hosts[0]),
                         input.name(location.hosts[1]));
    case Place::Host:
    case Place::Name:
    case Place::Slot:
      return names_of(input, location.hosts);
    case Place::Cluster:
      break;
  }
  return "cluster";
}

std::string reason_for(const ClusterInput& input, const FaultLocation& location) {
  switch (location.place) {
    case Place::Port:
      return fmt::format(
          "{} suffers, and the other hosts do not among themselves: its port, its cable or the "
          "switch's port",
          location.sends && location.receives ? "all it sends and receives"
          : location.sends                    ? "all it sends"
                                              : "all it receives");
    case Place::Uplink:
      return "within each of the two groups all is well: the fault is in what they share between "
             "them";
    case Place::Pair:
    case Place::DirectedPath:
      return input.hosts() == 2
                 ? "with two hosts it is not known at which end the fault is: the cable or either "
                   "port"
                 : "both hosts are well with others: the cable between them where there is one, or "
                   "the path of these two through the network";
    case Place::Cluster:
      return "every host suffers: what all have in common, as the switch, its configuration or a "
             "setting of all hosts";
    case Place::Host:
    case Place::Name:
    case Place::Slot:
      break;
  }
  return "";
}

std::string look_at_ports(const ClusterInput& input, const FaultLocation& location) {
  switch (location.place) {
    case Place::Port:
      return with_note(look_at(input, location.hosts[0]),
                       "then swap its cable, then the switch's port: the fault goes where it "
                       "belongs");
    case Place::Pair:
    case Place::DirectedPath:
      return with_note(look_at(input, location.hosts[0]) + "; " + look_at(input, location.hosts[1]),
                       "then swap the cable: the end whose counters grow has it");
    case Place::Uplink:
      return "look at the links between the switches of both groups: their rates, how many are up, "
             "their counters";
    case Place::Cluster:
    case Place::Host:
    case Place::Name:
    case Place::Slot:
      break;
  }
  return "look at the switch: its ports' rates and counters";
}

std::string test_by_hand(const ClusterInput& input, HostIndex from, HostIndex to,
                         std::string_view test) {
  return on_host(input.name(from), fmt::format("chokepoint {} {} --key-file KEY", test,
                                               shell_word(input.host(to).address)));
}

Finding finding_of(const ClusterInput& input, const FaultLocation& location, std::string id,
                   checks::Status status) {
  Finding finding{.check = {.id = std::move(id),
                            .status = status,
                            .subject = subject_of(input, location),
                            .why = reason_for(input, location),
                            .next_step = look_at_ports(input, location)},
                  .place = location.place,
                  .hosts = location.hosts};
  add_paths(input, std::span(location.paths).first(std::min(location.paths.size(), kMaxPaths)),
            finding);
  return finding;
}

void add_paths(const ClusterInput& input, std::span<const PathIndex> paths, Finding& finding) {
  for (const PathIndex path : paths) {
    finding.paths.emplace_back(input.paths()[path].from, input.paths()[path].to);
  }
}

std::string same_on_others(const ClusterInput& input, std::span<const HostIndex> hosts) {
  return hosts.size() == 1 ? "" : "the same on " + names_of(input, hosts.subspan(1));
}

}  // namespace chokepoint::preflight
