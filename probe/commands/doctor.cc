// chokepoint doctor: reads this host, judges it, and advises what to change. The document is
// chokepoint.doctor/1; the page for people is base/checks/check.h's. One thread.
#include "base/documents/doctor.h"

#include <fmt/ostream.h>

#include <string>

#include "base/checks/check.h"
#include "base/cli/command.h"
#include "base/cli/output.h"
#include "base/host/inventory.h"
#include "base/json/codec.h"
#include "measure/baseline/baseline.h"
#include "probe/commands/commands.h"
#include "probe/host/apply_plan.h"
#include "probe/host/checks.h"

namespace chokepoint::probe {
namespace {

class DoctorCommand final : public cli::Command {
 public:
  cli::Summary summary() const override {
    return {
        .name = "doctor",
        .purpose = "checks this host: tuning, NIC, PCIe, RDMA, GPU, address families",
        .description =
            "Checks what a distributed training job depends on: every NIC with its PCIe path, "
            "queues and buffers, TCP's limits for local and long paths, names and address "
            "families, time, RDMA devices, GPUs, and this program's privileges. Changes nothing. "
            "Each finding comes with the reason and the "
            "command that fixes it.\n\n"
            "A check is PASS, INFO, WARNING, CRITICAL, or UNKNOWN if it could not be checked. "
            "The exit code is 3 when a check is CRITICAL.",
        .examples = {
            {"chokepoint doctor", "what is wrong with this host, and how to fix it"},
            {"chokepoint doctor --record runs/a", "store the result for the run that follows"},
            {"chokepoint doctor --json --strict", "for a script: exit code 3 on warnings, too"},
            {"chokepoint doctor --apply-plan >plan.sh",
             "the advised changes, to be read, applied, tested by a probe, and undone"},
            {"chokepoint doctor --summary", "why a scheduler should not use this host"}}};
  }

  void define(cli::Flags& flags) override {
    flags.group("What to show")
        .toggle("all,a", &all_, "every check in full, and those that passed")
        .toggle("summary", &summary_,
                "one line with what is CRITICAL (--strict: or a WARNING); none if nothing is")
        .toggle(
            "apply-plan", &apply_plan_,
            "print a script that can make the advised changes and undo them; changes nothing now")
        .toggle("strict", &strict_, "exit code 3 on warnings, too")
        .always("exit-code")
        .group("Where to look")
        .option("root", &root_, "DIR",
                "read /proc, /sys and /etc below this folder: a copy taken from another host");
    baseline::define(flags, baseline_);
  }

  Result<cli::ExitCode> run(cli::Context& context) override {
    TRY(baseline::check(baseline_));
    if (root_ != "/") {
      context.root = sys::Root(root_);
      if (!context.root.exists("/")) {
        return fail(ErrorKind::NotFound, "", root_, "no such folder", "give the copy's top folder");
      }
    }
    const host::Inventory inventory = host::read_inventory(context.root);
    const Checks checks = examine(inventory);
    const Status limit = strict_ ? Status::Warning : Status::Critical;
    cli::Json document = cli::document(context, Fields<documents::Doctor>::kSchema);
    document.update(json::to_json(documents::Doctor{.verdict = worst(checks), .checks = checks}));
    TRY(baseline::answer(
        context, baseline_,
        {.kind = "doctor", .document = std::move(document), .facts = host::facts_of(inventory)},
        false, [&] {
          if (apply_plan_) {
            context.out << apply_plan(inventory, checks, context.root);
          } else if (summary_) {
            const std::string line = checks::summary(checks, limit);
            fmt::print(context.out, "{}{}", line, line.empty() ? "" : "\n");
          } else {
            checks::print_page(context, checks, all_);
          }
        }));
    return worst(checks) >= limit ? cli::ExitCode::Found : cli::ExitCode::Done;
  }

 private:
  std::string root_ = "/";
  baseline::Flags baseline_;
  bool all_ = false;
  bool summary_ = false;
  bool apply_plan_ = false;
  bool strict_ = false;
};

}  // namespace

cli::CommandFactory doctor_command() { return cli::command<DoctorCommand>(); }

}  // namespace chokepoint::probe
