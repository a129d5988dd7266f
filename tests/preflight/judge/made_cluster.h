// Clusters that never were, as a preflight would have measured them: all well but for a little
// noise, and then the faults that a test puts in. The same seed makes the same cluster.
#pragma once

#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "preflight/task/measured.h"

namespace chokepoint::preflight {

struct Made {
  std::size_t hosts = 8;
  std::optional<double> speed_mbps = 10'000;  // of every port
  double reached = 0.94;                      // of it, by TCP
  double noise = 0.02;                        // of that, either way
  double rtt_ms = 0.1;
  std::int64_t mtu = 1500;
  std::uint32_t packets = 1000;  // of UDP, each way
  std::size_t peers = 0;         // of a host, where not every pair is tested; 0: all
  std::uint64_t seed = 1;
};

class Cluster {
 public:
  explicit Cluster(const Made& made);

  Measured& measured() { return measured_; }
  const Measured& measured() const { return measured_; }
  HostResult& host(HostIndex host) { return measured_.hosts[host]; }
  InterfaceFacts& port(HostIndex host) { return host_facts(host).interfaces[0]; }
  HostFacts& host_facts(HostIndex host) { return *measured_.hosts[host].facts; }
  std::size_t hosts() const { return measured_.hosts.size(); }

  using Change = std::function<void(PathResult&)>;

  // Of all ways that this host sends or receives on.
  void sending(HostIndex host, const Change& change);
  void receiving(HostIndex host, const Change& change);
  void all_of(HostIndex host, const Change& change);
  // From one to another.
  void path(HostIndex from, HostIndex to, const Change& change);
  void each(const std::function<void(HostIndex from, HostIndex to, PathResult&)>& change);
  void each_pair(const std::function<void(PairResult&)>& change);

  // So many packets of a hundred are lost, by chance.
  Change loses(double percent);
  // A tenth of the rate, in its round and alone.
  static Change slower(double factor);
  // In its round alone: whether it is slow by itself nobody has tested.
  static Change slower_in_its_round(double factor);
  // Tested again, and as fast as it should be.
  Change is_well_alone();

  // As with a switch's uplink between hosts below `first` and the others.
  void share_uplink(HostIndex first, double factor);
  // Everybody is asked for everybody's name, and gets the address.
  void look_up_names();
  // A host's clock goes wrong by so much.
  void shift_clock(HostIndex host, float ms);

  void remove(HostIndex host, Presence presence);

 private:
  double noisy(double value);
  void fill(PathResult& path);

  Made made_;
  std::mt19937_64 random_;
  Measured measured_ = {};
};

// As the address of the host with this number.
std::string made_address(HostIndex host);

}  // namespace chokepoint::preflight
