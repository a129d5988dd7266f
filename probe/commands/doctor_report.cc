#include "probe/commands/doctor_report.h"

#include "base/checks/check.h"

namespace chokepoint::probe {

cli::Json document_of(const cli::Context& context, const Checks& checks) {
  cli::Json document = cli::document(context, "chokepoint.doctor/1");
  document["verdict"] = name_of(worst(checks));
  document["checks"] = checks::json_of(checks);
  return document;
}

}  // namespace chokepoint::probe
