// Which flow labels of an RDMA path are slower than others: a bandwidth test of each, twice. By
// RoCE v2 the label decides the UDP source port of a queue pair, and a switch, a router or a bond
// puts the flow on one of several parallel links by a hash of its addresses and ports.
//
//   first pass    label 1, 2, 3 … n
//   second pass   label n … 3, 2, 1      what changes with time makes no two groups of them
//   both again    of labels that were fast in one pass alone: math::unsteady_rates()
//
// Each is a test of its own (trial.h), so that a queue pair that fails on a dead link does not
// affect another. The caller decides what is measured. Values and pure functions, except what
// sweep_flows() gets as arguments.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/documents/rdma_flows.h"
#include "base/sys/error.h"
#include "rdma/session/parameters.h"
#include "rdma/session/trial.h"

namespace chokepoint::rdma::session {

// Fewer flows show no group that chance would not; see math::groups_of().
inline constexpr int kMinFlows = 13;
inline constexpr int kMaxFlows = documents::kMaxRdmaFlows;

struct FlowRate {
  std::uint32_t label = 0;
  // nullopt: it did not have its turn. 0: the test failed on the way.
  std::optional<double> first_mbps = {};
  std::optional<double> second_mbps = {};
  std::string failure = {};  // of the last test of it that failed; empty: none did
};

struct FlowSweep {
  Trial trial = {};  // the last one that went well: what both ends agreed on
  std::vector<FlowRate> flows = {};
  bool interrupted = false;
};

using RunTest = std::function<Result<Trial>(const Parameters& parameters)>;

// `parameters`: of one test; its flow label is set here. An error that is no flow's own (wrong
// usage, a server that is gone) ends it; so does a path on which the first flows all fail.
Result<FlowSweep> sweep_flows(Parameters parameters, int flows, const RunTest& run,
                              const std::function<void(std::uint64_t tests)>& progress);

// Which of them are slower than the others: the document without the peer.
documents::RdmaFlows judged(const FlowSweep& sweep);

// As Linux makes it of a label that is not 0 (rdma_flow_label_to_udp_sport() in ib_verbs.h).
std::uint16_t source_port_of(std::uint32_t flow_label);

}  // namespace chokepoint::rdma::session
