#include <array>

#include "tests/preflight/report/made_cluster.h"

namespace chokepoint::preflight {
namespace {

MadeCluster two() {
  MadeCluster cluster = made_cluster(2);
  slow_path(cluster, 0, 1);
  return cluster;
}

MadeCluster four() {
  MadeCluster cluster = made_cluster(4);
  slow_path(cluster, 2, 0);
  small_mtu(cluster, 3);
  return cluster;
}

MadeCluster eight() {
  MadeCluster cluster = made_cluster(8);
  lossy_port(cluster, 3);
  narrow_uplink(cluster, 4, 8);
  loopback_name(cluster, 1);
  absent_host(cluster, 6, Presence::Unreachable);
  add_finding(cluster, {.check = {.id = "clock.offset",
                                  .status = checks::Status::Info,
                                  .subject = "cluster",
                                  .found = "at most 0.01 ms apart",
                                  .why = "timelines of several hosts can be laid on each other"}});
  cluster.measured.troubles.push_back({.a = 2,
                                       .b = 5,
                                       .test = "path",
                                       .error = {.kind = ErrorKind::Timeout,
                                                 .operation = "probe",
                                                 .subject = "gpu5",
                                                 .reason = "no answer in 10 s"}});
  return cluster;
}

MadeCluster racks() {
  MadeCluster cluster = made_cluster(64);
  for (HostIndex rack = 0; rack < 4; ++rack) {
    narrow_uplink(cluster, rack * 16, rack * 16 + 16);
  }
  lossy_port(cluster, 21);
  slow_path(cluster, 40, 7);
  slow_path(cluster, 12, 55);
  small_mtu(cluster, 33);
  absent_host(cluster, 50, Presence::NoAgent);
  return cluster;
}

MadeCluster thousand() {
  MadeCluster cluster = made_cluster(1000);
  lossy_port(cluster, 421);
  slow_path(cluster, 40, 700);
  return cluster;
}

MadeCluster empty() {
  MadeCluster cluster = made_cluster(2);
  absent_host(cluster, 0, Presence::Unresolved);
  absent_host(cluster, 1, Presence::Refused);
  cluster.measured.collective.reset();
  return cluster;
}

MadeCluster hostile() {
  MadeCluster cluster = four();
  for (HostResult& host : cluster.measured.hosts) {
    host.name += kHostileText;
    host.program = kHostileText;
    host.facts->interfaces[1].name = kHostileText;
    host.doctor.push_back({kHostileText, checks::Status::Warning, kHostileText, kHostileText,
                           kHostileText, kHostileText, kHostileText});
  }
  for (Finding& finding : cluster.judgement.findings) {
    finding.check.subject = finding.check.found = finding.check.wanted = kHostileText;
    finding.check.why = finding.check.next_step = kHostileText;
    finding.evidence.push_back({kHostileText, 1, kHostileText, kHostileText});
  }
  cluster.measured.plan = cluster.measured.program = kHostileText;
  cluster.measured.troubles.push_back(
      {.a = 0,
       .b = 1,
       .test = kHostileText,
       .error = {ErrorKind::Io, kHostileText, kHostileText, 0, kHostileText}});
  cluster.measured.left_out = {kHostileText};
  cluster.measured.collective->backend = kHostileText;
  return cluster;
}

}  // namespace

MadeCluster made_cluster_named(std::string_view kind) {
  struct Kind {
    std::string_view name;
    MadeCluster (*make)();
  };
  static constexpr std::array kKinds{Kind{"two", two},
                                     Kind{"four", four},
                                     Kind{"eight", eight},
                                     Kind{"racks", racks},
                                     Kind{"thousand", thousand},
                                     Kind{"empty", empty},
                                     Kind{"hostile", hostile},
                                     Kind{"full", full_cluster},
                                     Kind{"clean", [] { return made_cluster(4); }}};
  for (const Kind& each : kKinds) {
    if (each.name == kind) {
      return each.make();
    }
  }
  return {};
}

MadeCluster full_cluster() {
  MadeCluster cluster = eight();
  Measured& measured = cluster.measured;
  measured.is_sampled = measured.was_interrupted = true;
  measured.seed = 4711;
  measured.left_out = {"the collective: the time limit of 20 s"};
  measured.hosts[2].presence = Presence::Lost;
  measured.hosts[2].lost_during = "throughput to gpu4";
  measured.hosts[2].error = Error{.kind = ErrorKind::Timeout,
                                  .operation = "receive",
                                  .subject = "10.0.0.3",
                                  .reason = "nothing came for 10 s",
                                  .next_step = "ping 10.0.0.3"};
  measured.hosts[1].names[0].error = Error{.kind = ErrorKind::NotFound,
                                           .operation = "resolve",
                                           .subject = "gpu0",
                                           .reason = "no such name"};
  measured.hosts[0].doctor = {{"nic.mtu", checks::Status::Pass, "eth0", "9000", "", "is as wanted"},
                              {"cpu.governor", checks::Status::Warning, "host", "powersave",
                               "performance", "cores start slowly", "cpupower frequency-set"}};
  PairResult& pair = measured.pairs[3];
  PathResult& path = pair.back;
  path.alone_mbps = 9380.123F;
  path.window_share = 0.125F;
  path.send_buffer_share = 0.5F;
  path.largest_window_bytes = 31457281;
  path.black_hole_bytes = 1473;
  path.rdma_mbps = 92345.67F;
  path.limit = TcpLimit::ReceiveWindow;
  pair.there.limit = TcpLimit::Unknown;
  pair.rdma_latency_us = 1.87F;
  pair.clock_offset_ms = -3.25F;
  pair.ipv6 = FamilyState::Fails;
  return cluster;
}

}  // namespace chokepoint::preflight
