// Names the commands and calls dispatch; no logic.
#include "analysis/commands/compare.h"
#include "analysis/commands/diagnose.h"
#include "analysis/commands/export.h"
#include "analysis/commands/predict.h"
#include "analysis/commands/record_show.h"
#include "analysis/commands/report.h"
#include "base/cli/dispatch.h"
#include "capture/commands/capture.h"
#include "capture/commands/mark.h"
#include "capture/commands/run.h"
#include "probe/commands/doctor.h"
#include "probe/commands/probe_latency.h"
#include "probe/commands/probe_path.h"
#include "probe/commands/probe_tcp.h"
#include "probe/commands/probe_udp.h"
#include "probe/commands/serve.h"
#include "rdma/commands/devices.h"

int main(int argc, char** argv) {
  using namespace chokepoint;
  const cli::Program program{
      .name = "chokepoint",
      .version = CHOKEPOINT_VERSION,
      .purpose = "finds what holds a distributed training job back",
      .commands =
          {
              cli::command<probe::DoctorCommand>(),
              cli::command<probe::ServeCommand>(),
              cli::command<probe::ProbeTcpCommand>(),
              cli::command<probe::ProbeUdpCommand>(),
              cli::command<probe::ProbeLatencyCommand>(),
              cli::command<probe::ProbePathCommand>(),
              cli::command<rdma::DevicesCommand>(),
              cli::command<capture::RunCommand>(),
              cli::command<capture::CaptureCommand>(),
              cli::command<capture::MarkCommand>(),
              cli::command<analysis::DiagnoseCommand>(),
              cli::command<analysis::ReportCommand>(),
              cli::command<analysis::ExportCommand>(),
              cli::command<analysis::PredictCommand>(),
              cli::command<analysis::CompareCommand>(),
              cli::command<analysis::RecordShowCommand>(),
          },
  };
  return cli::dispatch(program, argc, argv);
}
