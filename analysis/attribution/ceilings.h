// What probes measured of the paths, links and devices that the job used, beside what the job
// reached of them. A probe shows what could be reached; whether a verdict agrees with that is
// evidence for or against it, and no verdict changes its class by it. Pure; any thread.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "analysis/attribution/diagnosis.h"
#include "analysis/load/probe_document.h"
#include "analysis/load/run_data.h"
#include "analysis/timeline/clocks.h"

namespace chokepoint::analysis {

// Which path between nodes a probe measured. Its peer is the node that has the probed address or
// name; the path is the job's own if the address belongs to the interface that the job used there.
struct ProbedPath {
  std::string node = {};     // that ran the probe
  std::string peer = {};     // the other node's name; else what the probe calls it
  std::string address = {};  // of the peer; empty: unknown

  bool is_between(const std::string& from, const std::string& to, ProbeDirection direction) const;
  // Addresses of the sender's and of the receiver's end.
  bool leads_to(const std::array<std::vector<std::string>, 2>& addresses,
                ProbeDirection direction) const;
};

ProbedPath probed_path(const RunData& run, const NodeData& prober, const record::Probe& probe,
                       const ProbeDocument& document);

// Of all probes that measured what the job used: the newest of each kind.
std::vector<Ceiling> ceilings_of(const RunData& run, const Clocks& clocks);

// Adds the ceilings to the evidence of the verdicts, and lowers the confidence in those that they
// contradict.
void hold_against(std::vector<Ceiling>& ceilings, Diagnosis& diagnosis);

// "of what probe tcp carried 21 h before (710 Mb/s), the job reached 62 %"
std::string sentence_of(const Ceiling& ceiling);

}  // namespace chokepoint::analysis
