// One function for each kind of finding, and what all of them work on. judge() calls them in its
// order: each appends what it found to the context and marks the ways that it explained, so that
// those after it do not name a second cause for the same trouble. No I/O; one thread.
#pragma once

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "preflight/judge/cluster_input.h"
#include "preflight/judge/expectation.h"
#include "preflight/judge/judge.h"

namespace chokepoint::preflight {

struct JudgeContext {
  const ClusterInput& input;
  const Earlier& earlier;
  const Expectations& expectations;
  const Speeds& speeds;
  // The processors were in such use while rates were measured that a low rate is no sign of a slow
  // network.
  bool is_short_of_processors = false;
  std::vector<bool> explained = {};  // by way: the reason of its low rate is known
  std::vector<Finding> findings = {};

  void explain(const std::vector<PathIndex>& paths) {
    for (const PathIndex path : paths) {
      explained[path] = true;
    }
  }
  void add(Finding finding) { findings.push_back(std::move(finding)); }
  void pass(const char* id, std::string found) {
    add({.check = {.id = id,
                   .status = checks::Status::Pass,
                   .subject = "cluster",
                   .found = std::move(found)}});
  }
  bool has(std::string_view id, checks::Status at_least) const {
    return std::ranges::any_of(findings, [&](const Finding& one) {
      return one.check.id == id && one.check.status >= at_least;
    });
  }
};

// host.present: which hosts took part, which did not and why. host.version: their programs.
void judge_presence(JudgeContext& context);
void judge_versions(JudgeContext& context);

// host.cpu: hosts whose processor limits the flows that they serve.
void judge_processors(JudgeContext& context);

// name.loopback, name.unresolved, name.differs, name.elsewhere: the answers of the hosts' resolvers
// to each other's names.
void judge_names(JudgeContext& context);
// Whether the host was asked for its own name: then doctor's answer adds nothing.
bool was_asked_for_itself(const HostResult& host, HostIndex index);

// port.speed, pci.slot, rdma.rate, collective.rate: ports, slots and adapters, and a collective
// operation over all hosts.
void judge_ports(JudgeContext& context);
void judge_slots(JudgeContext& context);
void judge_rdma(JudgeContext& context);
void judge_collective(JudgeContext& context);

// test.failed: tests that failed although both hosts are present. link.families: an address family
// that does not work between two hosts.
void judge_troubles(JudgeContext& context);
void judge_families(JudgeContext& context);

// link.rate, link.oneway: ways that are slower than expected with no other test running.
void judge_rates(JudgeContext& context);

// link.latency: round trips within a local network that take too long with no other test running.
void judge_latency(JudgeContext& context);

// link.ring: cables of three hosts without a switch that join ports which NCCL does not pair.
void judge_ring(JudgeContext& context);

// link.mtu: interfaces of one network with different MTUs, paths that carry less than both their
// ends, and black holes.
void judge_mtus(JudgeContext& context);

// link.member: one of several parallel links is bad, by flows that share its loss, delay or rate.
void judge_members(JudgeContext& context);
// Whether that is what the way loses by.
bool has_lossy_member(const ClusterInput& input, const DirectedPath& path);

// link.loss: packets that the network lost with no other test running.
void judge_loss(JudgeContext& context);

// path.window: socket buffers smaller than the bandwidth-delay product of the path. The finding
// names the host whose buffer it is, and the sysctl.
void judge_windows(JudgeContext& context);

// uplink.oversubscribed: ways between two groups of hosts that are slow only while others are
// tested.
void judge_uplinks(JudgeContext& context);
// link.shared: other ways that are slow only while others are tested. After all checks that know a
// better reason.
void judge_sharing(JudgeContext& context);

struct HostClock {
  double offset_ms = 0;       // from the median of the hosts that offsets connect it with
  double uncertainty_ms = 0;  // of the way to the host that it was compared with
  std::size_t joined = 0;     // number of these hosts, with this one
};

// By host; nullopt if no offset was measured.
std::vector<std::optional<HostClock>> clocks_of(const ClusterInput& input);

// clock.offset: hosts whose clock differs from the others'.
void judge_clocks(JudgeContext& context);

// What `doctor` found on the hosts: what matters to a cluster, once for all hosts that have it,
// without what the preflight measured itself. After the ports: the counters of a port at fault
// belong to that finding.
void judge_host_checks(JudgeContext& context);

// baseline.worse, baseline.hosts: what fell behind the last time by more than runs vary, and which
// hosts are new or missing. After all others: it marks their findings that are worse than then.
void judge_baseline(JudgeContext& context);

}  // namespace chokepoint::preflight
