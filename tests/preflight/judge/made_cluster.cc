#include "tests/preflight/judge/made_cluster.h"

#include <fmt/format.h>

#include <algorithm>

namespace chokepoint::preflight {
namespace {

constexpr const char* kProgram = "chokepoint 0.1.0";

HostResult made_host(const Made& made, HostIndex host) {
  HostResult result;
  result.name = fmt::format("gpu{}", host);
  result.address = made_address(host);
  result.program = kProgram;
  InterfaceFacts port;
  port.name = "eth0";
  port.addresses = {result.address};
  port.networks = {"10.0.0.0/8"};
  port.mtu = made.mtu;
  port.speed_mbps = made.speed_mbps;
  port.is_port = port.is_up = true;
  HostFacts facts;
  facts.host = result.name;
  facts.interfaces = {port};
  facts.receive_buffer_bytes = 64 << 20;
  facts.send_buffer_bytes = 64 << 20;
  facts.congestion_control = "cubic";
  facts.cpus = 16;
  result.facts = facts;
  return result;
}

bool is_tested(const Made& made, HostIndex a, HostIndex b) {
  if (made.peers == 0) {
    return true;
  }
  // Each host with the next ones on a ring, at growing distances.
  const std::size_t distance = std::min<std::size_t>(b - a, made.hosts - (b - a));
  const std::size_t steps = std::max<std::size_t>(made.peers / 2, 1);
  for (std::size_t step = 1, reach = 1; step <= steps; ++step, reach = 2 * reach + 1) {
    if (distance == std::min(reach, made.hosts - reach)) {
      return true;
    }
  }
  return false;
}

}  // namespace

std::string made_address(HostIndex host) {
  return fmt::format("10.0.{}.{}", host / 200, 1 + host % 200);
}

Cluster::Cluster(const Made& made) : made_(made), random_(made.seed) {
  measured_.plan = "default";
  measured_.program = kProgram;
  measured_.is_sampled = made.peers > 0;
  for (HostIndex host = 0; host < made.hosts; ++host) {
    measured_.hosts.push_back(made_host(made, host));
  }
  for (HostIndex a = 0; a < made.hosts; ++a) {
    for (HostIndex b = a + 1; b < made.hosts; ++b) {
      if (!is_tested(made, a, b)) {
        continue;
      }
      PairResult pair{.a = a, .b = b};
      fill(pair.there);
      fill(pair.back);
      pair.rtt_ms = static_cast<float>(noisy(made.rtt_ms));
      pair.rtt_min_ms = 0.9F * *pair.rtt_ms;
      pair.rtt_p99_ms = 3 * *pair.rtt_ms;
      pair.clock_offset_ms = static_cast<float>(noisy(1) - 1);
      pair.clock_uncertainty_ms = *pair.rtt_ms / 2;
      pair.ipv4 = FamilyState::Works;
      measured_.pairs.push_back(pair);
    }
  }
}

double Cluster::noisy(double value) {
  return value * (1 + made_.noise * std::uniform_real_distribution(-1.0, 1.0)(random_));
}

void Cluster::fill(PathResult& path) {
  constexpr double kUnknownSpeed = 10'000;
  path.tcp_mbps =
      static_cast<float>(noisy(made_.reached * made_.speed_mbps.value_or(kUnknownSpeed)));
  path.window_share = 0.02F;
  path.send_buffer_share = 0.01F;
  path.sender_cpu_percent = 30;
  path.receiver_cpu_percent = 45;
  path.limit = TcpLimit::Network;
  path.packets = made_.packets;
  // One in a hundred thousand, as a good cable may.
  path.lost = std::binomial_distribution<std::uint32_t>(made_.packets, 1e-5)(random_);
  path.mtu_bytes = static_cast<float>(made_.mtu);
}

void Cluster::each(const std::function<void(HostIndex, HostIndex, PathResult&)>& change) {
  for (PairResult& pair : measured_.pairs) {
    change(pair.a, pair.b, pair.there);
    change(pair.b, pair.a, pair.back);
  }
}

void Cluster::each_pair(const std::function<void(PairResult&)>& change) {
  std::ranges::for_each(measured_.pairs, change);
}

void Cluster::sending(HostIndex host, const Change& change) {
  each([&](HostIndex from, HostIndex, PathResult& path) {
    if (from == host) {
      change(path);
    }
  });
}

void Cluster::receiving(HostIndex host, const Change& change) {
  each([&](HostIndex, HostIndex to, PathResult& path) {
    if (to == host) {
      change(path);
    }
  });
}

void Cluster::all_of(HostIndex host, const Change& change) {
  sending(host, change);
  receiving(host, change);
}

void Cluster::path(HostIndex from, HostIndex to, const Change& change) {
  each([&](HostIndex one, HostIndex other, PathResult& path) {
    if (one == from && other == to) {
      change(path);
    }
  });
}

Cluster::Change Cluster::loses(double percent) {
  return [this, percent](PathResult& path) {
    path.lost = std::binomial_distribution<std::uint32_t>(path.packets, percent / 100)(random_);
  };
}

Cluster::Change Cluster::slower(double factor) {
  return [factor](PathResult& path) {
    path.tcp_mbps = static_cast<float>(*path.tcp_mbps / factor);
    path.alone_mbps = path.tcp_mbps;
  };
}

Cluster::Change Cluster::slower_in_its_round(double factor) {
  return
      [factor](PathResult& path) { path.tcp_mbps = static_cast<float>(*path.tcp_mbps / factor); };
}

void Cluster::share_uplink(HostIndex first, double factor) {
  each([&](HostIndex from, HostIndex to, PathResult& path) {
    if ((from < first) != (to < first)) {
      slower_in_its_round(noisy(factor))(path);
    }
  });
}

void Cluster::look_up_names() {
  for (HostResult& host : measured_.hosts) {
    for (HostIndex asked = 0; asked < hosts(); ++asked) {
      host.names.push_back({.asked = asked, .addresses = {made_address(asked)}});
    }
  }
}

void Cluster::shift_clock(HostIndex host, float ms) {
  for (PairResult& pair : measured_.pairs) {
    if (pair.a == host || pair.b == host) {
      pair.clock_offset_ms = *pair.clock_offset_ms + (pair.b == host ? ms : -ms);
    }
  }
}

Cluster::Change Cluster::is_well_alone() {
  return [this](PathResult& path) {
    PathResult fresh;
    fill(fresh);
    path.alone_mbps = fresh.tcp_mbps;
  };
}

void Cluster::remove(HostIndex host, Presence presence) {
  measured_.hosts[host].presence = presence;
  measured_.hosts[host].facts.reset();
  std::erase_if(measured_.pairs,
                [&](const PairResult& pair) { return pair.a == host || pair.b == host; });
}

}  // namespace chokepoint::preflight
