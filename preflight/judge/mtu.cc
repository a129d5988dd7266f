#include "preflight/judge/mtu.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "preflight/judge/blame.h"
#include "preflight/judge/networks.h"
#include "preflight/judge/shell.h"
#include "preflight/judge/words.h"

namespace chokepoint::preflight {
namespace {

using checks::Status;

using Odd = std::map<std::pair<std::int64_t, std::int64_t>, std::vector<HostIndex>>;  // has, wants

// What most hosts of the network have; the larger where as many have either, since somebody wanted
// it.
std::int64_t usual_mtu(const ClusterInput& scene, const std::vector<HostIndex>& hosts) {
  std::map<std::int64_t, std::size_t> counts;
  for (const HostIndex host : hosts) {
    ++counts[*scene.interface(host)->mtu];
  }
  return std::ranges::max_element(counts, {},
                                  [](const auto& one) { return std::pair(one.second, one.first); })
      ->first;
}

Odd odd_ones(const ClusterInput& scene) {
  Odd odd;
  for (const auto& [network, hosts] : networks_of(scene)) {
    std::vector<HostIndex> known;
    std::ranges::copy_if(hosts, std::back_inserter(known),
                         [&](HostIndex host) { return scene.interface(host)->mtu.has_value(); });
    if (known.empty()) {
      continue;
    }
    const std::int64_t wanted = scene.limits().mtu_bytes
                                    ? static_cast<std::int64_t>(*scene.limits().mtu_bytes)
                                    : usual_mtu(scene, known);
    for (const HostIndex host : known) {
      if (*scene.interface(host)->mtu != wanted) {
        odd[{*scene.interface(host)->mtu, wanted}].push_back(host);
      }
    }
  }
  return odd;
}

void report_odd(JudgeContext& desk, std::int64_t has, std::int64_t wants,
                const std::vector<HostIndex>& hosts) {
  const ClusterInput& scene = desk.scene;
  const std::string interface = scene.interface_name(hosts[0]);
  Finding finding;
  finding.place = Place::Port;
  finding.hosts = hosts;
  finding.check = {
      .id = "link.mtu",
      .status = Status::Critical,
      .subject =
          hosts.size() == 1 ? scene.name(hosts[0]) + " " + interface : names_of(scene, hosts),
      .found = fmt::format("MTU {}", has),
      .wanted = fmt::format(
          "{}, {}", wants,
          scene.limits().mtu_bytes ? "by the limits" : "as most interfaces of its network have"),
      .why = "in one network nobody says that a packet is too large: it vanishes",
      .next_step = on_host(scene.name(hosts[0]),
                           fmt::format("ip link set dev {} mtu {}", shell_word(interface), wants))};
  if (hosts.size() > 1) {
    finding.check.next_step = with_note(
        finding.check.next_step, "the same on " + names_of(scene, std::span(hosts).subspan(1)));
  }
  finding.evidence.push_back(
      {"MTU of " + finding.check.subject, static_cast<double>(has), "bytes", "facts"});
  desk.findings.push_back(std::move(finding));
}

// The most that both ends let through; nothing where one does not tell.
std::optional<double> ends_carry(const ClusterInput& scene, const Way& way) {
  const InterfaceFacts* from = scene.interface(way.from);
  const InterfaceFacts* to = scene.interface(way.to);
  if (from == nullptr || to == nullptr || !from->mtu || !to->mtu) {
    return std::nullopt;
  }
  return static_cast<double>(std::min(*from->mtu, *to->mtu));
}

bool is_hole(const ClusterInput& scene, const Way& way) {
  const std::optional<double> ends = ends_carry(scene, way);
  return way.result->black_hole_bytes && (!ends || *way.result->black_hole_bytes <= *ends);
}

bool carries_less(const ClusterInput& scene, const Way& way) {
  const std::optional<double> ends = ends_carry(scene, way);
  return way.result->mtu_bytes && ends && *way.result->mtu_bytes < *ends;
}

std::vector<Tested> tested_in(const ClusterInput& scene) {
  std::vector<Tested> tested;
  for (WayIndex index = 0; index < scene.ways().size(); ++index) {
    const Way& way = scene.ways()[index];
    if (way.result->mtu_bytes || way.result->black_hole_bytes) {
      const bool suffers = is_hole(scene, way) || carries_less(scene, way);
      tested.push_back({index, way.from, way.to, 1, suffers ? 1.0 : 0.0});
    }
  }
  return tested;
}

Status status_of(const ClusterInput& scene, const Way& way) {
  if (is_hole(scene, way)) {
    return Status::Critical;
  }
  return scene.is_wan(way) ? Status::Info : Status::Warning;
}

void report_path(JudgeContext& desk, const Blame& blame) {
  const Way& way = desk.scene.ways()[blame.ways[0]];
  Finding finding = finding_of(desk.scene, blame, "link.mtu", status_of(desk.scene, way));
  const std::optional<double> ends = ends_carry(desk.scene, way);
  if (is_hole(desk.scene, way)) {
    finding.check.found = fmt::format("packets of {} bytes and more vanish, {}",
                                      *way.result->black_hole_bytes, words_for(desk.scene, way));
    desk.explain(blame.ways);
  } else {
    finding.check.found =
        fmt::format("{} bytes {}", *way.result->mtu_bytes, words_for(desk.scene, way));
  }
  finding.check.wanted =
      ends ? fmt::format("{} bytes, which both ends have", *ends) : "no size that vanishes";
  finding.check.next_step =
      with_note(test_by_hand(desk.scene, way.from, way.to, "probe path"),
                "shows where; give the switches and routers between them the MTU of the hosts");
  if (way.result->mtu_bytes) {
    finding.evidence.push_back(
        {"path MTU " + words_for(desk.scene, way), *way.result->mtu_bytes, "bytes", "probe path"});
  }
  desk.findings.push_back(std::move(finding));
}

void report_passed(JudgeContext& desk, std::size_t ways) {
  Finding finding;
  finding.check = {.id = "link.mtu", .status = Status::Pass, .subject = "cluster"};
  finding.check.found =
      fmt::format("{} of {} carry what both ends have", counted(ways, "way", "ways"), ways);
  desk.findings.push_back(std::move(finding));
}

}  // namespace

void judge_mtus(JudgeContext& desk) {
  const std::size_t before = desk.findings.size();
  for (const auto& [mtu, hosts] : odd_ones(desk.scene)) {
    report_odd(desk, mtu.first, mtu.second, hosts);
  }
  const std::vector<Tested> tested = tested_in(desk.scene);
  for (const Blame& one : blame(desk.scene.hosts(), tested)) {
    report_path(desk, one);
  }
  if (desk.findings.size() == before && !tested.empty()) {
    report_passed(desk, tested.size());
  }
}

}  // namespace chokepoint::preflight
