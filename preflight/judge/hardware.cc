#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "base/math/units.h"
#include "preflight/judge/cluster_input.h"
#include "preflight/judge/figure_text.h"
#include "preflight/judge/findings.h"

namespace chokepoint::preflight {
namespace {

using checks::Status;

// Hosts with the same two figures are one finding.
using Figures = std::pair<double, double>;
using HostsBy = std::map<Figures, std::vector<HostIndex>>;

std::string subject_for(const ClusterInput& input, const std::vector<HostIndex>& hosts) {
  return names_of(input, hosts) +
         (hosts.size() == 1 ? " " + input.interface_name(hosts[0]) : std::string());
}

// What such ports carry is what they can: slow against the last time, and no other finding.
void explain_by_ports(JudgeContext& context, const std::vector<HostIndex>& hosts,
                      Finding& finding) {
  std::vector<bool> is_port(context.input.hosts());
  for (const HostIndex host : hosts) {
    is_port[host] = true;
  }
  for (PathIndex index = 0; index < context.input.paths().size(); ++index) {
    const DirectedPath& path = context.input.paths()[index];
    if ((is_port[path.from] || is_port[path.to]) && context.speeds.speed[index] == Speed::Well) {
      context.explained[index] = true;
      finding.paths.emplace_back(path.from, path.to);
    }
  }
}

void report_port(JudgeContext& context, const Figures& figures, const std::vector<HostIndex>& hosts,
                 Status status, std::string_view by) {
  const auto& [has, wants] = figures;
  Finding finding{.place = Place::Port, .hosts = hosts};
  finding.check = {
      .id = "port.speed",
      .status = status,
      .subject = subject_for(context.input, hosts),
      .found = rate_words(has),
      .wanted = fmt::format("{}, {}", rate_words(wants), by),
      .why =
          "the port came up slower than it should: its other end, a cable with broken pairs, or "
          "a setting",
      .next_step =
          with_note(on_host(context.input.name(hosts[0]),
                            "ethtool " + shell_word(context.input.interface_name(hosts[0]))),
                    same_on_others(context.input, hosts))};
  finding.evidence.push_back({"rate of the port", has, "Mb/s", "facts"});
  explain_by_ports(context, hosts, finding);
  context.add(std::move(finding));
}

void report_slot(JudgeContext& context, const Figures& figures,
                 const std::vector<HostIndex>& hosts) {
  const auto& [carries, asked] = figures;
  const bool critical = carries < context.input.limits().slot_share * asked;
  Finding finding{.place = Place::Slot, .hosts = hosts};
  finding.check = {.id = "pci.slot",
                   .status = critical ? Status::Critical : Status::Warning,
                   .subject = subject_for(context.input, hosts),
                   .found = rate_words(carries) + " through its PCIe slot",
                   .wanted = rate_words(asked) + " of the port",
                   .why = "data cannot leave or enter the host faster than its slot carries it",
                   .next_step = with_note(on_host(context.input.name(hosts[0]),
                                                  "chokepoint probe pcie; chokepoint doctor"),
                                          same_on_others(context.input, hosts))};
  finding.evidence.push_back({"what the slot carries", carries, "Mb/s", "facts"});
  finding.evidence.push_back({"rate of the port", asked, "Mb/s", "facts"});
  context.add(std::move(finding));
}

std::optional<double> fastest_rdma(const HostResult& host) {
  std::optional<double> fastest;
  if (host.facts) {
    for (const RdmaPortFacts& port : host.facts->rdma) {
      if (port.is_active && port.speed_mbps) {
        fastest = std::max(fastest.value_or(0), *port.speed_mbps);
      }
    }
  }
  return fastest;
}

std::optional<double> rdma_expected(const ClusterInput& input, const DirectedPath& path) {
  const auto from = fastest_rdma(input.host(path.from));
  const auto to = fastest_rdma(input.host(path.to));
  return from && to ? std::optional(std::min(*from, *to)) : std::nullopt;
}

void report_rdma(JudgeContext& context, const FaultLocation& location) {
  const DirectedPath& path = context.input.paths()[location.paths[0]];
  const double expected = rdma_expected(context.input, path).value_or(0);
  const double rate = *path.result->rdma_mbps;
  Finding finding = finding_of(context.input, location, "rdma.rate",
                               grade_of(context.input.limits(), rate, expected));
  finding.check.found = fmt::format("{} {}", rate_words(rate), words_for(context.input, path));
  finding.check.wanted =
      fmt::format("{} at least: {} of the ports",
                  rate_words(context.input.limits().rdma_share * expected), rate_words(expected));
  finding.check.next_step =
      with_note(test_by_hand(context.input, path.from, path.to, "rdma write bw"),
                "shows retransmissions and what both ports counted");
  finding.evidence.push_back(
      {"RDMA write " + words_for(context.input, path), rate, "Mb/s", "rdma write bw"});
  context.add(std::move(finding));
}

// By some of the hosts, for a line that can be read.
std::string collective_by_hand(const ClusterInput& input) {
  constexpr std::size_t kNamed = 16;
  std::vector<std::string> names;
  for (HostIndex host = 0; host < input.hosts() && names.size() < kNamed; ++host) {
    if (input.is_present(host)) {
      names.push_back(input.name(host));
    }
  }
  return fmt::format("chokepoint probe collective --hosts {} --key-file KEY",
                     shell_word(fmt::format("{}", fmt::join(names, ","))));
}

// What is found already and keeps a collective from its end.
std::optional<std::string> breaks_collectives(const JudgeContext& context) {
  for (const Finding& finding : context.findings) {
    const checks::Check& check = finding.check;
    const bool lost = check.id == "host.present" && !finding.hosts.empty() &&
                      context.input.host(finding.hosts[0]).presence == Presence::Lost;
    if (check.status >= Status::Warning && (lost || finding.place == Place::Name ||
                                            check.id == "test.failed" || check.id == "link.mtu")) {
      return check.id + " of " + check.subject;
    }
  }
  return std::nullopt;
}

// Ports of one network that came up slower than three quarters of it, where the limits are silent.
HostsBy slower_than_most(const ClusterInput& input) {
  constexpr double kMinUsualShare = 0.75;
  constexpr std::size_t kMinPorts = 3;
  HostsBy slower;
  for (const auto& [network, hosts] : networks_of(input)) {
    std::map<double, std::vector<HostIndex>> by_speed;
    std::size_t known = 0;
    for (const HostIndex host : hosts) {
      const auto speed = input.interface(host)->speed_mbps;
      if (speed && !link_rate_of(input.limits(), input.name(host))) {
        by_speed[*speed].push_back(host);
        ++known;
      }
    }
    const auto usual =
        std::ranges::max_element(by_speed, {}, [](const auto& one) { return one.second.size(); });
    if (usual == by_speed.end() || usual->second.size() < kMinPorts ||
        static_cast<double>(usual->second.size()) < kMinUsualShare * static_cast<double>(known)) {
      continue;
    }
    for (auto one = by_speed.begin(); one != usual; ++one) {
      slower[{one->first, usual->first}] = one->second;
    }
  }
  return slower;
}

}  // namespace

void judge_ports(JudgeContext& context) {
  HostsBy slow;
  for (HostIndex host = 0; host < context.input.hosts(); ++host) {
    const InterfaceFacts* interface = context.input.interface(host);
    const auto wanted = link_rate_of(context.input.limits(), context.input.name(host));
    if (interface != nullptr && interface->speed_mbps && wanted &&
        *interface->speed_mbps < context.input.limits().link_share * *wanted) {
      slow[{*interface->speed_mbps, *wanted}].push_back(host);
    }
  }
  for (const auto& [figures, hosts] : slow) {
    report_port(context, figures, hosts, Status::Critical, "by the limits");
  }
  for (const auto& [figures, hosts] : slower_than_most(context.input)) {
    report_port(context, figures, hosts, Status::Warning, "as most ports of its network have");
  }
}

void judge_slots(JudgeContext& context) {
  HostsBy narrow;
  std::size_t known = 0;
  for (HostIndex host = 0; host < context.input.hosts(); ++host) {
    const InterfaceFacts* interface = context.input.interface(host);
    if (interface != nullptr && interface->speed_mbps && interface->pci_mbps) {
      ++known;
      if (*interface->pci_mbps < *interface->speed_mbps) {
        narrow[{*interface->pci_mbps, *interface->speed_mbps}].push_back(host);
      }
    }
  }
  for (const auto& [figures, hosts] : narrow) {
    report_slot(context, figures, hosts);
  }
  if (narrow.empty() && known > 0) {
    context.pass("pci.slot", counted(known, "slot carries", "slots carry") + " what the port can");
  }
}

void judge_rdma(JudgeContext& context) {
  const auto tested = tested_paths(context.input, [&](PathIndex, const DirectedPath& path) {
    const auto expected = rdma_expected(context.input, path);
    return path.result->rdma_mbps && expected
               ? std::optional(*path.result->rdma_mbps <
                               context.input.limits().rdma_share * *expected)
               : std::nullopt;
  });
  const auto located = locate_faults(context.input.hosts(), tested);
  for (const FaultLocation& one : located) {
    report_rdma(context, one);
  }
  if (located.empty() && !tested.empty()) {
    context.pass("rdma.rate",
                 counted(tested.size(), "path reaches its rate", "paths reach their rate"));
  }
}

void judge_collective(JudgeContext& context) {
  const auto& collective = context.input.measured().collective;
  if (!collective) {
    return;
  }
  const auto& wanted = context.input.limits().collective_mbps;
  Finding finding;
  finding.check = {.id = "collective.rate", .status = Status::Pass, .subject = "cluster"};
  checks::Check& check = finding.check;
  if (collective->error || !collective->bus_mbps) {
    check.status = Status::Critical;
    check.found = fmt::format(
        "{} over {} came to nothing", collective->backend,
        counted(static_cast<std::size_t>(std::max(collective->ranks, 0)), "rank", "ranks"));
    check.wanted = "a result";
    check.why = collective->error ? describe(*collective->error) : "no figure came of it";
    check.next_step = with_note(collective_by_hand(context.input), "shows what happens");
    if (const std::optional<std::string> cause = breaks_collectives(context)) {
      check.status = Status::Info;
      check.why += "; no wonder with " + *cause;
    }
  } else {
    check.found =
        fmt::format("{} bus bandwidth, {} of {} over {} ranks", rate_words(*collective->bus_mbps),
                    math::format_bytes(static_cast<double>(collective->bytes)), collective->backend,
                    collective->ranks);
    finding.evidence.push_back(
        {"bus bandwidth", *collective->bus_mbps, "Mb/s", "probe collective"});
    if (wanted && *collective->bus_mbps < *wanted) {
      check.status = Status::Warning;
      check.wanted = rate_words(*wanted) + " by the limits";
      check.why = "the collective is what training waits for";
      check.next_step = with_note(collective_by_hand(context.input), "shows it by size");
    }
  }
  context.add(std::move(finding));
}

}  // namespace chokepoint::preflight
