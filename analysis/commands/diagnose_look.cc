#include "analysis/commands/diagnose_look.h"

#include <algorithm>

#include "analysis/commands/study.h"

namespace chokepoint::analysis {

Result<Look> look_at(const std::string& folder, const DiagnoseOptions& options) {
  TRY(Study studied, study(folder, options));
  Look look{.diagnosis = std::move(studied.inquiry.diagnosis),
            .troubles = std::move(studied.troubles)};
  for (const NodeData& node : studied.run.nodes) {
    look.newest_ns = std::max(look.newest_ns, node.span.end_ns);
  }
  return look;
}

}  // namespace chokepoint::analysis
