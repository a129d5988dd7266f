#include "analysis/commands/diagnose_views.h"
#include "analysis/commands/record_views.h"
#include "analysis/commands/report_views.h"
#include "analysis/report/parts_document.h"
#include "analysis/report/timeline_document.h"

namespace chokepoint::analysis {

cli::Json document_of(const cli::Context& context, const Report& report) {
  cli::Json document = cli::document(context, "chokepoint.report/1");
  document["run"] = report.diagnosis.run;
  document["program"] = context.version;
  document["summary"] = document_of(context, report.summary);
  document["diagnosis"] = document_of(context, report.diagnosis);
  document["accounting"] =
      accounting_document(report.diagnosis, report.bars, report.timeline.span.start_ns);
  document["timeline"] = timeline_document(report.timeline);
  document["moments"] = moments_document(report.timeline);
  document["flows"] = flows_document(report.flows);
  document["matrix"] = matrix_document(report.matrix);
  document["hosts"] = hosts_document(report.hosts);
  document["paths"] = paths_document(report.paths);
  document["probes"] = probes_document(report.probes);
  document["missing"] = report.missing;
  return document;
}

}  // namespace chokepoint::analysis
