// The parts of the report's document that tell of connections, hosts and paths, as JSON. Texts are
// passed on as they are: whoever shows them must not take them for markup. Pure functions.
#pragma once

#include "analysis/report/flow_table.h"
#include "analysis/report/host_picture.h"
#include "analysis/report/path_picture.h"
#include "analysis/report/probe_table.h"
#include "analysis/report/traffic_matrix.h"
#include "base/cli/output.h"

namespace chokepoint::analysis {

cli::Json flows_document(const FlowTable& table);
cli::Json matrix_document(const TrafficMatrix& matrix);
cli::Json hosts_document(const std::vector<HostPicture>& hosts);
cli::Json paths_document(const std::vector<PathPicture>& paths);
cli::Json probes_document(const ProbeTable& table);

}  // namespace chokepoint::analysis
