// Names the commands and calls dispatch; no logic.
#include "analysis/commands/commands.h"
#include "base/cli/dispatch.h"
#include "base/sys/process.h"
#include "capture/commands/commands.h"
#include "preflight/agent/service.h"
#include "preflight/commands/commands.h"
#include "probe/collective/gloo/gloo.h"
#include "probe/collective/nccl/nccl.h"
#include "probe/commands/commands.h"
#include "rdma/commands/commands.h"
#include "rdma/session/service.h"
#include "rdma/verbs/device.h"

namespace {

using namespace chokepoint;

std::unique_ptr<control::Service> rdma_service() {
  return rdma::session::rdma_service(rdma::verbs::live_library);
}

std::unique_ptr<control::Service> preflight_service() {
  return std::make_unique<preflight::PreflightService>();
}

cli::CommandFactory rdma_test(rdma::Verb verb) {
  return rdma::rdma_test_command(verb, rdma::verbs::live_library);
}

std::vector<probe::collective::Backend> collective_backends() {
  return {probe::collective::gloo_backend(), probe::collective::nccl_backend()};
}

}  // namespace

int main(int argc, char** argv) {
  sys::end_with_parent();
  sys::notice_children();
  const cli::Program program{
      .name = "chokepoint",
      .version = CHOKEPOINT_VERSION,
      .purpose = "finds what holds a distributed training job back",
      .sections =
          {
              {.title = "Before a job",
               .commands =
                   {
                       probe::doctor_command(),
                       preflight::preflight_command(),
                       preflight::ask_command(),
                       probe::serve_command(
                           std::vector<probe::ServiceFactory>{rdma_service, preflight_service}),
                       probe::tcp_command(),
                       probe::udp_command(),
                       probe::quic_command(),
                       probe::rpc_command(),
                       probe::latency_command(),
                       probe::path_command(),
                       probe::paths_command(),
                       probe::pcie_command(),
                       probe::processor_command(),
                       probe::storage_command(),
                       probe::collective_command(collective_backends()),
                       rdma_test(rdma::Verb::Write),
                       rdma_test(rdma::Verb::Read),
                       rdma_test(rdma::Verb::Send),
                       rdma_test(rdma::Verb::Atomic),
                       rdma::devices_command(),
                   }},
              {.title = "During a job",
               .commands =
                   {
                       capture::run_command(),
                       analysis::live_command(),
                       capture::mark_command(),
                       capture::capture_command(),
                   }},
              {.title = "After a job",
               .commands =
                   {
                       analysis::diagnose_command(),
                       analysis::explain_command(),
                       analysis::report_command(),
                       analysis::runs_command(),
                       analysis::collect_command(),
                       analysis::compare_command(),
                       analysis::predict_command(),
                       analysis::export_command(),
                       analysis::record_show_command(),
                       analysis::record_send_command(),
                   }},
          },
      .quick_start = {{"chokepoint doctor", "is this host ready?"},
                      {"chokepoint run torchrun … train.py", "on each node: train, and be watched"},
                      {"chokepoint collect gpu[1-2]:DIR", "bring the nodes' records together"},
                      {"chokepoint diagnose", "what held the newest run back, and what to change"}},
  };
  return cli::dispatch(program, argc, argv);
}
