// Names the commands and calls dispatch; no logic.
#include <algorithm>
#include <iterator>

#include "analysis/commands/commands.h"
#include "base/cli/dispatch.h"
#include "base/install/init.h"
#include "base/install/install.h"
#include "base/sys/library.h"
#include "base/sys/process.h"
#include "capture/commands/commands.h"
#include "preflight/agent/service.h"
#include "preflight/commands/commands.h"
#include "probe/collective/gloo/gloo.h"
#include "probe/collective/nccl/nccl.h"
#include "probe/commands/commands.h"
#include "probe/commands/kinds.h"
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

cli::Registry before_a_job() {
  cli::Registry commands{
      probe::doctor_command(), preflight::preflight_command(), preflight::ask_command(),
      probe::serve_command(std::vector<probe::ServiceFactory>{rdma_service, preflight_service})};
  std::ranges::copy(
      probe::kind_commands({probe::collective::gloo_backend(), probe::collective::nccl_backend()}),
      std::back_inserter(commands));
  for (const rdma::Verb verb :
       {rdma::Verb::Write, rdma::Verb::Read, rdma::Verb::Send, rdma::Verb::Atomic}) {
    commands.push_back(rdma::rdma_test_command(verb, rdma::verbs::live_library));
  }
  commands.push_back(rdma::devices_command());
  return commands;
}

cli::Registry after_a_job() {
  cli::Registry commands{
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
      analysis::mcp_command(probe::doctor_command()),
  };
  std::ranges::copy(analysis::history_commands(), std::back_inserter(commands));
  commands.push_back(analysis::web_command());
  return commands;
}

}  // namespace

int main(int argc, char** argv) {
  sys::end_with_parent();
  sys::notice_children();
#ifdef CHOKEPOINT_PORTABLE
  sys::carry_files(sys::files_in_this_program());
#endif
  const cli::Program program{
      .name = "chokepoint",
      .version = CHOKEPOINT_VERSION,
      .purpose = "finds what slows a distributed training job down",
      .sections =
          {
              {.title = "Before a job", .commands = before_a_job()},
              {.title = "During a job",
               .commands =
                   {
                       capture::run_command(),
                       analysis::live_command(),
                       capture::mark_command(),
                       capture::capture_command(),
                   }},
              {.title = "After a job", .commands = after_a_job()},
              {.title = "This program",
               .commands = {analysis::demo_command(), install::init_command(),
                            install::install_command()}},
          },
      .quick_start = {{"chokepoint doctor", "is this host ready?"},
                      {"chokepoint run torchrun … train.py",
                       "on each node: start the training, and record it"},
                      {"chokepoint collect gpu[1-2]:DIR", "bring the nodes' records together"},
                      {"chokepoint diagnose", "what held the newest run back, and what to change"}},
      .run_names = analysis::run_names,
  };
  return cli::dispatch(program, argc, argv);
}
