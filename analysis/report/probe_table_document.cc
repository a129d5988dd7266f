#include "analysis/report/json_values.h"
#include "analysis/report/parts_document.h"
#include "base/sys/clock.h"

namespace chokepoint::analysis {
namespace {

cli::Json json_of(const ProbeLine& line) {
  return {{"node", line.node},
          {"kind", line.kind},
          {"peer", text_or_null(line.peer)},
          {"address", text_or_null(line.address)},
          {"direction", text_or_null(line.direction)},
          {"at", sys::rfc3339(line.wall_ns)},
          {"what", line.what},
          {"probe_value", line.probe_value},
          {"job_value", value_or_null(line.job_value)},
          {"unit", line.unit},
          {"share_percent", value_or_null(line.share_percent())},
          {"source", line.source}};
}

}  // namespace

cli::Json probes_document(const ProbeTable& table) {
  cli::Json list = cli::Json::array();
  for (const ProbeLine& line : table.lines) {
    list.push_back(json_of(line));
  }
  return list;
}

}  // namespace chokepoint::analysis
