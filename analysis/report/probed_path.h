// Which way between nodes a probe measured: its peer is told by an address or a name that one of
// the nodes has, and the way is the job's own where that address lies on the interface that the job
// used there. Pure.
#pragma once

#include <optional>
#include <string>

#include "analysis/load/probe_document.h"
#include "analysis/load/run_data.h"
#include "analysis/report/path_picture.h"

namespace chokepoint::analysis {

struct ProbedPath {
  std::string node = {};     // that ran the probe
  std::string peer = {};     // the other node's name; else what the probe calls it
  std::string address = {};  // of the peer; empty: unknown

  // Between the same nodes, whichever way they are called.
  bool is_between(const PathPicture& path, ProbeWay way) const;
  // And by the job's own way.
  bool is_on(const PathPicture& path, ProbeWay way) const;
};

ProbedPath probed_path(const RunData& run, const NodeData& prober, const record::Probe& probe,
                       const ProbeDocument& document);

// What all probes of the run say of a path.
void add_probes(const RunData& run, PathPicture& path);

}  // namespace chokepoint::analysis
