#include "tests/preflight/report/made_cluster.h"

#include <fmt/format.h>

#include <algorithm>

namespace chokepoint::preflight {
namespace {

// The same numbers each time, a little apart.
float about(float value, HostIndex from, HostIndex to) {
  const std::uint32_t mixed = (from * 2654435761U) ^ (to * 2246822519U);
  constexpr std::uint32_t kSteps = 1000;
  const float part = static_cast<float>((mixed >> 7U) % kSteps) / static_cast<float>(kSteps);
  return value * (0.99F + 0.02F * part);
}

HostResult made_host(HostIndex host) {
  const std::string address = fmt::format("10.0.{}.{}", host / 250, 1 + host % 250);
  HostFacts facts{.host = fmt::format("gpu{}", host),
                  .interfaces = {{.name = "lo",
                                  .addresses = {"127.0.0.1"},
                                  .networks = {"127.0.0.0/8"},
                                  .is_up = true},
                                 {.name = "eth0",
                                  .addresses = {address},
                                  .networks = {"10.0.0.0/16"},
                                  .mtu = 9000,
                                  .speed_mbps = 10000,
                                  .pci_mbps = 63015,
                                  .is_port = true,
                                  .is_up = true}},
                  .congestion_control = "cubic",
                  .cpus = 64,
                  .gpus = 8};
  return {.name = facts.host, .address = address, .program = "chokepoint 0.1.0", .facts = facts};
}

PathResult made_path(HostIndex from, HostIndex to) {
  return {.tcp_mbps = about(9400, from, to),
          .retransmitted_percent = 0,
          .sender_cpu_percent = about(40, from, to),
          .receiver_cpu_percent = about(60, from, to),
          .limit = TcpLimit::Network,
          .packets = 2000,
          .mtu_bytes = 9000,
          .hops = 1};
}

PairResult made_pair(HostIndex a, HostIndex b) {
  return {.a = a,
          .b = b,
          .there = made_path(a, b),
          .back = made_path(b, a),
          .rtt_ms = about(0.08F, a, b),
          .rtt_p99_ms = about(0.15F, a, b),
          .rtt_min_ms = about(0.06F, a, b),
          .clock_offset_ms = about(0.4F, a, b) - 0.4F,
          .clock_uncertainty_ms = 0.03F,
          .ipv4 = FamilyState::Works,
          .ipv6 = FamilyState::Absent};
}

void add_names(Measured& measured) {
  for (HostResult& host : measured.hosts) {
    for (HostIndex asked = 0; asked < measured.hosts.size(); ++asked) {
      host.names.push_back({.asked = asked, .addresses = {measured.hosts[asked].address}});
    }
  }
}

}  // namespace

MadeCluster made_cluster(HostIndex hosts) {
  MadeCluster cluster;
  Measured& measured = cluster.measured;
  measured.plan = "default";
  measured.duration_s = 12.5 + 0.75 * hosts;
  measured.program = "chokepoint 0.1.0";
  for (HostIndex a = 0; a < hosts; ++a) {
    measured.hosts.push_back(made_host(a));
    for (HostIndex b = a + 1; b < hosts; ++b) {
      measured.pairs.push_back(made_pair(a, b));
    }
  }
  add_names(measured);
  measured.collective = CollectiveResult{.backend = "gloo",
                                         .ranks = static_cast<int>(hosts),
                                         .bytes = 1 << 26,
                                         .bus_mbps = 8900,
                                         .time_us = 118000};
  add_finding(
      cluster,
      {.check = {.id = "throughput.ways",
                 .subject = "cluster",
                 .found = fmt::format("{} ways as fast as their links", hosts * (hosts - 1)),
                 .why = "each path was compared with what its links carry"}});
  return cluster;
}

PairResult& pair_of(MadeCluster& cluster, HostIndex one, HostIndex other) {
  const std::pair wanted{std::min(one, other), std::max(one, other)};
  return *std::ranges::find(cluster.measured.pairs, wanted,
                            [](const PairResult& pair) { return std::pair(pair.a, pair.b); });
}

PathResult& path_of(MadeCluster& cluster, HostIndex from, HostIndex to) {
  PairResult& pair = pair_of(cluster, from, to);
  return from < to ? pair.there : pair.back;
}

void add_finding(MadeCluster& cluster, Finding finding) {
  Judgement& judgement = cluster.judgement;
  judgement.verdict = std::max(judgement.verdict, finding.check.status);
  judgement.findings.push_back(std::move(finding));
  std::ranges::stable_sort(judgement.findings, std::ranges::greater(),
                           [](const Finding& each) { return each.check.status; });
}

}  // namespace chokepoint::preflight
