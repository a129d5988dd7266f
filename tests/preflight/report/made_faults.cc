#include <fmt/format.h>

#include "tests/preflight/report/made_cluster.h"

namespace chokepoint::preflight {
namespace {

using checks::Status;

std::vector<std::pair<HostIndex, HostIndex>> paths_of(const MadeCluster& cluster, HostIndex host) {
  std::vector<std::pair<HostIndex, HostIndex>> paths;
  for (const PairResult& pair : cluster.measured.pairs) {
    if (pair.a == host || pair.b == host) {
      paths.emplace_back(pair.a, pair.b);
      paths.emplace_back(pair.b, pair.a);
    }
  }
  return paths;
}

std::string name(const MadeCluster& cluster, HostIndex host) {
  return cluster.measured.hosts[host].name;
}

}  // namespace

void slow_path(MadeCluster& cluster, HostIndex from, HostIndex to) {
  path_of(cluster, from, to).tcp_mbps = 941.2F;
  path_of(cluster, from, to).alone_mbps = 943.7F;
  const std::string words = fmt::format("{} to {}", name(cluster, from), name(cluster, to));
  add_finding(
      cluster,
      {.check = {.id = "throughput.way",
                 .status = Status::Critical,
                 .subject = words,
                 .found = "944 Mb/s, alone as beside the others; 9.41 Gb/s back",
                 .wanted = "10 Gb/s of both links",
                 .why = "one direction of one pair is slow, all the others of both hosts are not",
                 .next_step = fmt::format("ssh {} ip route get {}", name(cluster, from),
                                          cluster.measured.hosts[to].address)},
       .place = Place::DirectedPath,
       .hosts = {from, to},
       .paths = {{from, to}},
       .evidence = {{"throughput from " + words, 943.7, "Mb/s", "probe tcp"},
                    {"speed of eth0", 10000, "Mb/s", "facts"}}});
}

void lossy_port(MadeCluster& cluster, HostIndex host) {
  const auto paths = paths_of(cluster, host);
  for (const auto& [from, to] : paths) {
    PathResult& path = path_of(cluster, from, to);
    path.lost = from == host ? 11 : 0;
    path.tcp_mbps = from == host ? 2100.F + static_cast<float>(to) : *path.tcp_mbps;
    path.retransmitted_percent = from == host ? 0.6F : 0.F;
  }
  std::vector<std::pair<HostIndex, HostIndex>> out = paths;
  std::erase_if(out, [&](const auto& path) { return path.first != host; });
  add_finding(cluster,
              {.check = {.id = "loss.port",
                         .status = Status::Critical,
                         .subject = name(cluster, host) + " eth0",
                         .found = fmt::format("0.55 % of packets lost on {} ways out of it, none "
                                              "between the other hosts",
                                              out.size()),
                         .wanted = "none on an idle network",
                         .why = "all that leaves this port suffers and nothing else does: its "
                                "cable, its transceiver, or the switch's port",
                         .next_step = fmt::format("ssh {} ethtool -S eth0 | grep -iE "
                                                  "'err|crc|drop'",
                                                  name(cluster, host))},
               .place = Place::Port,
               .hosts = {host},
               .paths = out,
               .evidence = {{"loss from " + name(cluster, host), 0.55, "%", "probe udp"},
                            {"loss between the others", 0, "%", "probe udp"}}});
}

void small_mtu(MadeCluster& cluster, HostIndex host) {
  for (const auto& [from, to] : paths_of(cluster, host)) {
    path_of(cluster, from, to).mtu_bytes = 1500;
  }
  cluster.measured.hosts[host].facts->interfaces[1].mtu = 1500;
  add_finding(
      cluster,
      {.check = {.id = "mtu.host",
                 .status = Status::Warning,
                 .subject = name(cluster, host) + " eth0",
                 .found = "1500",
                 .wanted = "9000, as all the other hosts have",
                 .why = "its packets carry a sixth of what the others' do",
                 .next_step = fmt::format("ssh {} ip link set eth0 mtu 9000", name(cluster, host))},
       .place = Place::Host,
       .hosts = {host},
       .paths = paths_of(cluster, host),
       .evidence = {{"MTU of eth0", 1500, "B", "facts"}}});
}

void loopback_name(MadeCluster& cluster, HostIndex host) {
  for (HostResult& each : cluster.measured.hosts) {
    if (&each == &cluster.measured.hosts[host]) {
      each.names[host].addresses = {"127.0.1.1"};
    }
  }
  add_finding(cluster, {.check = {.id = "names.loopback",
                                  .status = Status::Critical,
                                  .subject = name(cluster, host),
                                  .found = "127.0.1.1, by its own resolver",
                                  .wanted = cluster.measured.hosts[host].address,
                                  .why = "Gloo sends its peers this address, and none reaches it",
                                  .next_step = fmt::format("ssh {} sed -i '/^127.0.1.1/d' "
                                                           "/etc/hosts",
                                                           name(cluster, host))},
                        .place = Place::Name,
                        .hosts = {host}});
}

void absent_host(MadeCluster& cluster, HostIndex host, Presence presence) {
  std::erase_if(cluster.measured.pairs,
                [&](const PairResult& pair) { return pair.a == host || pair.b == host; });
  HostResult& result = cluster.measured.hosts[host];
  result = {.name = result.name,
            .address = result.address,
            .presence = presence,
            .error = Error{.kind = ErrorKind::Unreachable,
                           .operation = "connect",
                           .subject = result.address,
                           .reason = "no route to host"}};
  add_finding(cluster, {.check = {.id = "host.absent",
                                  .status = Status::Critical,
                                  .subject = result.name,
                                  .found = "no route to host",
                                  .why = "a job that waits for it never starts",
                                  .next_step = "ping -c 3 " + result.address},
                        .place = Place::Host,
                        .hosts = {host}});
}

void narrow_uplink(MadeCluster& cluster, HostIndex first, HostIndex end) {
  Finding finding{.check = {.id = "uplink.narrow",
                            .status = Status::Warning,
                            .subject = fmt::format("{} to {} against the others",
                                                   name(cluster, first), name(cluster, end - 1)),
                            .found = "20.3 Gb/s for all together",
                            .wanted = fmt::format("{} Gb/s, which its ways reach one by one",
                                                  10 * (end - first)),
                            .why = "alone each path across is fast, together they share one uplink",
                            .next_step = "look at the ports between both switches, and their LAG"},
                  .place = Place::Uplink,
                  .evidence = {{"all ways at once", 20300, "Mb/s", "probe tcp"}}};
  CutResult cut{.together_mbps = 20300, .alone_mbps = 9400.0 * (end - first)};
  for (HostIndex host = 0; host < cluster.measured.hosts.size(); ++host) {
    (host >= first && host < end ? cut.left : cut.right).push_back(host);
  }
  finding.hosts = cut.left;
  for (std::size_t at = 0; at < std::min(cut.left.size(), cut.right.size()); ++at) {
    cut.paths.emplace_back(cut.left[at], cut.right[at]);
    path_of(cluster, cut.left[at], cut.right[at]).together_mbps =
        static_cast<float>(20300.0 / static_cast<double>(end - first));
  }
  finding.paths = cut.paths;
  cluster.measured.cuts.push_back(std::move(cut));
  add_finding(cluster, std::move(finding));
}

}  // namespace chokepoint::preflight
