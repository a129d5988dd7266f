// Is any host, link, slot or path not what it should be, and which one? From all that a preflight
// measured, each thing at fault once: the fault is the smallest explanation of which paths suffer,
// and the paths that it explains count against no other host. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/checks/check.h"
#include "preflight/judge/limits.h"
#include "preflight/task/measured.h"

namespace chokepoint::preflight {

// What has to be fixed, as far as the affected pairs show it.
enum class Place : std::uint8_t {
  Cluster,       // all of it, or no host in particular
  Host,          // its processor, memory, sysctls, agent
  Port,          // a host's NIC, its cable, or the switch's port: all that host's pairs suffer, no
                 // else's
  Slot,          // the PCIe slot of a host's NIC
  Name,          // what a name leads to
  DirectedPath,  // from one host to another, not back
  Pair,          // between two hosts, both ways: their cable, where no switch stands between
  Uplink,        // what two groups of hosts share
};

struct Evidence {
  std::string what = {};  // "throughput from gpu3 to gpu1"
  double value = 0;
  std::string unit = {};  // "Mb/s"
  std::string from = {};  // "probe tcp", "facts"
};

struct Finding {
  checks::Check check = {};
  Place place = Place::Cluster;
  std::vector<HostIndex> hosts = {};  // those at fault; of an Uplink one group of the two
  std::vector<std::pair<HostIndex, HostIndex>> paths = {};  // that suffer
  std::vector<Evidence> evidence = {};
};

// Everything that was judged, what passed included, the worst first.
struct Judgement {
  std::vector<Finding> findings = {};
  checks::Status verdict = checks::Status::Pass;
};

// `before`: the last time's, or null. Its hosts are matched by name.
Judgement judge(const Measured& measured, const Limits& limits, const Measured* before);

}  // namespace chokepoint::preflight

namespace chokepoint {

template <>
struct EnumNames<preflight::Place> {
  using P = preflight::Place;
  static constexpr std::string_view kWhat = "a kind of place";
  static constexpr auto kNames = std::to_array<EnumName<P>>({{P::Cluster, "cluster"},
                                                             {P::Host, "host"},
                                                             {P::Port, "port"},
                                                             {P::Slot, "slot"},
                                                             {P::Name, "name"},
                                                             {P::DirectedPath, "way"},
                                                             {P::Pair, "pair"},
                                                             {P::Uplink, "uplink"}});
};

template <>
struct Fields<preflight::Evidence> {
  using E = preflight::Evidence;
  static constexpr FieldList kList{field("what", &E::what, "which figure, of which hosts"),
                                   field("value", &E::value, "the figure"),
                                   field("unit", &E::unit, "its unit"),
                                   field("from", &E::from, "the test or source it comes from")};
};

}  // namespace chokepoint
