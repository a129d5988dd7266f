#include "probe/commands/doctor.h"

#include <fmt/ostream.h>

#include "base/checks/check.h"
#include "base/host/inventory.h"
#include "probe/commands/doctor_report.h"
#include "probe/host/examine.h"

namespace chokepoint::probe {

cli::Summary DoctorCommand::summary() const {
  return {.name = "doctor",
          .purpose = "is this host fit? tuning, NIC, PCIe, RDMA, GPU, address families",
          .description =
              "Reads this host and judges what a distributed training job would meet: every NIC "
              "with its PCIe path, queues and buffers, TCP's limits against the paths it may have "
              "to fill, names and address families, time, RDMA devices, GPUs, and what this "
              "program may see. Changes nothing. Each finding comes with the reason and the "
              "command that mends it.\n\n"
              "A check is PASS, INFO, WARNING, CRITICAL, or UNKNOWN where it could not be seen. "
              "The exit code is 3 when a check is CRITICAL.",
          .examples = {
              {"chokepoint doctor", "what is wrong with this host, and how to mend it"},
              {"chokepoint doctor --record runs/a", "keep the answer beside the run that follows"},
              {"chokepoint doctor --json --strict", "for a script: exit code 3 on warnings, too"},
              {"chokepoint doctor --summary", "why a scheduler should not use this host"}}};
}

void DoctorCommand::define(cli::Flags& flags) {
  flags.group("What to show")
      .toggle("all,a", &all_, "every check in full, and those that passed")
      .toggle("summary", &summary_,
              "one line with what is CRITICAL (--strict: or a WARNING), none where nothing is")
      .toggle("strict", &strict_, "exit code 3 on warnings, too")
      .toggle("exit-code", &exit_code_,
              "exit code 3 when a check is CRITICAL: so it is without this, too, unlike diagnose")
      .group("Where to look")
      .option("root", &root_, "DIR",
              "read /proc, /sys and /etc below this folder: a copy taken from another host");
  baseline::define(flags, baseline_);
}

Result<cli::ExitCode> DoctorCommand::run(cli::Context& context) {
  if (root_ != "/") {
    context.root = sys::Root(root_);
    if (!context.root.exists("/")) {
      return fail(ErrorKind::NotFound, "", root_, "no such folder", "give the copy's top folder");
    }
  }
  const host::Inventory inventory = host::read_inventory(context.root);
  const Checks checks = examine(inventory);
  const Status limit = strict_ ? Status::Warning : Status::Critical;
  const cli::Json document = document_of(context, checks);
  if (context.json) {
    cli::print(context, document);
  } else if (summary_) {
    const std::string line = checks::summary(checks, limit);
    fmt::print(context.out, "{}{}", line, line.empty() ? "" : "\n");
  } else {
    checks::print_page(context, checks, all_);
  }
  const baseline::Finding finding{
      .kind = "doctor", .document = document, .facts = host::facts_of(inventory)};
  TRY(keep(baseline_, finding, context));
  return worst(checks) >= limit ? cli::ExitCode::Found : cli::ExitCode::Done;
}

}  // namespace chokepoint::probe
