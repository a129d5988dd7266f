// Names the commands and calls dispatch; no logic.
#include "analysis/commands/compare.h"
#include "analysis/commands/diagnose.h"
#include "analysis/commands/export.h"
#include "analysis/commands/predict.h"
#include "analysis/commands/record_show.h"
#include "analysis/commands/report.h"
#include "base/cli/dispatch.h"
#include "base/sys/process.h"
#include "capture/commands/capture.h"
#include "capture/commands/mark.h"
#include "capture/commands/run.h"
#include "preflight/agent/service.h"
#include "preflight/commands/preflight.h"
#include "probe/collective/gloo/gloo.h"
#include "probe/collective/nccl/nccl.h"
#include "probe/commands/doctor.h"
#include "probe/commands/probe_collective.h"
#include "probe/commands/probe_latency.h"
#include "probe/commands/probe_path.h"
#include "probe/commands/probe_pcie.h"
#include "probe/commands/probe_tcp.h"
#include "probe/commands/probe_udp.h"
#include "probe/commands/serve.h"
#include "rdma/commands/devices.h"
#include "rdma/commands/rdma_test.h"
#include "rdma/session/service.h"
#include "rdma/verbs/device.h"

namespace {

using namespace chokepoint;

std::unique_ptr<control::Service> rdma_service() {
  return std::make_unique<rdma::session::RdmaService>(rdma::verbs::live_library);
}

std::unique_ptr<control::Service> preflight_service() {
  return std::make_unique<preflight::PreflightService>();
}

cli::CommandFactory rdma_test(rdma::Verb verb) {
  return cli::command<rdma::RdmaTestCommand>(verb,
                                             rdma::session::OpenLibrary(rdma::verbs::live_library));
}

std::vector<probe::collective::Backend> collective_backends() {
  return {probe::collective::gloo_backend(), probe::collective::nccl_backend()};
}

}  // namespace

int main(int argc, char** argv) {
  sys::end_with_parent();
  const cli::Program program{
      .name = "chokepoint",
      .version = CHOKEPOINT_VERSION,
      .purpose = "finds what holds a distributed training job back",
      .commands =
          {
              cli::command<probe::DoctorCommand>(),
              cli::command<probe::ServeCommand>(
                  std::vector<probe::ServiceFactory>{rdma_service, preflight_service}),
              cli::command<probe::ProbeTcpCommand>(),
              cli::command<probe::ProbeUdpCommand>(),
              cli::command<probe::ProbeLatencyCommand>(),
              cli::command<probe::ProbePathCommand>(),
              cli::command<probe::ProbePcieCommand>(),
              cli::command<probe::ProbeCollectiveCommand>(collective_backends()),
              rdma_test(rdma::Verb::Write),
              rdma_test(rdma::Verb::Read),
              rdma_test(rdma::Verb::Send),
              rdma_test(rdma::Verb::Atomic),
              cli::command<rdma::DevicesCommand>(),
              cli::command<preflight::PreflightCommand>(),
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
