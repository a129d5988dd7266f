#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "preflight/judge/cluster_input.h"
#include "preflight/judge/fault_location.h"
#include "preflight/judge/figure_text.h"
#include "preflight/judge/findings.h"

namespace chokepoint::preflight {
namespace {

using checks::Status;

using Odd = std::map<std::pair<std::int64_t, std::int64_t>, std::vector<HostIndex>>;  // has, wants

// The MTU of most hosts of the network; the larger where as many have either, since it was set on
// purpose.
std::int64_t usual_mtu(const ClusterInput& input, const std::vector<HostIndex>& hosts) {
  std::map<std::int64_t, std::size_t> counts;
  for (const HostIndex host : hosts) {
    ++counts[*input.interface(host)->mtu];
  }
  return std::ranges::max_element(counts, {},
                                  [](const auto& one) { return std::pair(one.second, one.first); })
      ->first;
}

Odd odd_ones(const ClusterInput& input) {
  Odd odd;
  for (const auto& [network, hosts] : networks_of(input)) {
    std::vector<HostIndex> known;
    std::ranges::copy_if(hosts, std::back_inserter(known),
                         [&](HostIndex host) { return input.interface(host)->mtu.has_value(); });
    if (known.empty()) {
      continue;
    }
    const std::int64_t wanted = input.limits().mtu_bytes
                                    ? static_cast<std::int64_t>(*input.limits().mtu_bytes)
                                    : usual_mtu(input, known);
    for (const HostIndex host : known) {
      if (*input.interface(host)->mtu != wanted) {
        odd[{*input.interface(host)->mtu, wanted}].push_back(host);
      }
    }
  }
  return odd;
}

void report_odd(JudgeContext& context, std::int64_t has, std::int64_t wants,
                const std::vector<HostIndex>& hosts) {
  const ClusterInput& input = context.input;
  const std::string interface = input.interface_name(hosts[0]);
  Finding finding{.place = Place::Port, .hosts = hosts};
  finding.check = {
      .id = "link.mtu",
      .status = Status::Critical,
      .subject =
          hosts.size() == 1 ? input.name(hosts[0]) + " " + interface : names_of(input, hosts),
      .found = fmt::format("MTU {}", has),
      .wanted = fmt::format(
          "{}, {}", wants,
          input.limits().mtu_bytes ? "by the limits" : "as most interfaces of its network have"),
      .why =
          "inside one network nothing reports that a packet is too large: it is dropped silently",
      .next_step =
          with_note(on_host(input.name(hosts[0]),
                            fmt::format("ip link set dev {} mtu {}", shell_word(interface), wants)),
                    same_on_others(input, hosts))};
  finding.evidence.push_back(
      {"MTU of " + finding.check.subject, static_cast<double>(has), "bytes", "facts"});
  context.add(std::move(finding));
}

// The most that both ends let through; nullopt where one does not report it.
std::optional<double> ends_carry(const ClusterInput& input, const DirectedPath& path) {
  const InterfaceFacts* from = input.interface(path.from);
  const InterfaceFacts* to = input.interface(path.to);
  if (from == nullptr || to == nullptr || !from->mtu || !to->mtu) {
    return std::nullopt;
  }
  return static_cast<double>(std::min(*from->mtu, *to->mtu));
}

bool is_hole(const ClusterInput& input, const DirectedPath& path) {
  const std::optional<double> ends = ends_carry(input, path);
  return path.result->black_hole_bytes && (!ends || *path.result->black_hole_bytes <= *ends);
}

bool carries_less(const ClusterInput& input, const DirectedPath& path) {
  const std::optional<double> ends = ends_carry(input, path);
  return path.result->mtu_bytes && ends && *path.result->mtu_bytes < *ends;
}

std::vector<Tested> tested_in(const ClusterInput& input) {
  return tested_paths(input, [&](PathIndex, const DirectedPath& path) {
    return path.result->mtu_bytes || path.result->black_hole_bytes
               ? std::optional(is_hole(input, path) || carries_less(input, path))
               : std::nullopt;
  });
}

Status status_of(const ClusterInput& input, const DirectedPath& path) {
  if (is_hole(input, path)) {
    return Status::Critical;
  }
  return input.is_wan(path) ? Status::Info : Status::Warning;
}

void report_path(JudgeContext& context, const FaultLocation& location) {
  const DirectedPath& path = context.input.paths()[location.paths[0]];
  Finding finding = finding_of(context.input, location, "link.mtu", status_of(context.input, path));
  const std::optional<double> ends = ends_carry(context.input, path);
  if (is_hole(context.input, path)) {
    finding.check.found =
        fmt::format("packets of {} bytes and more vanish, {}", *path.result->black_hole_bytes,
                    words_for(context.input, path));
    context.explain(location.paths);
  } else {
    finding.check.found =
        fmt::format("{} bytes {}", *path.result->mtu_bytes, words_for(context.input, path));
  }
  finding.check.wanted =
      ends ? fmt::format("{} bytes, which both ends have", *ends) : "no size that vanishes";
  finding.check.next_step =
      with_note(test_by_hand(context.input, path.from, path.to, "probe path"),
                "shows where; give the switches and routers between them the MTU of the hosts");
  if (path.result->mtu_bytes) {
    finding.evidence.push_back({"path MTU " + words_for(context.input, path),
                                *path.result->mtu_bytes, "bytes", "probe path"});
  }
  context.add(std::move(finding));
}

}  // namespace

void judge_mtus(JudgeContext& context) {
  const std::size_t before = context.findings.size();
  for (const auto& [mtu, hosts] : odd_ones(context.input)) {
    report_odd(context, mtu.first, mtu.second, hosts);
  }
  const std::vector<Tested> tested = tested_in(context.input);
  for (const FaultLocation& one : locate_faults(context.input.hosts(), tested)) {
    report_path(context, one);
  }
  if (context.findings.size() == before && !tested.empty()) {
    context.pass("link.mtu", fmt::format("{} of {} carry what both ends have",
                                         counted(tested.size(), "path", "paths"), tested.size()));
  }
}

}  // namespace chokepoint::preflight
