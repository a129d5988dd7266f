#include "probe/commands/doctor.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include "base/cli/document.h"
#include "base/cli/table.h"
#include "base/host/inventory.h"
#include "probe/host/examine.h"

namespace chokepoint::probe {
namespace {

using cli::Json;

Json text_or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }

Json json_of(const Check& check) {
  return {{"id", check.id},
          {"status", name_of(check.status)},
          {"subject", check.subject},
          {"found", text_or_null(check.found)},
          {"wanted", text_or_null(check.wanted)},
          {"why", check.why},
          {"next_step", text_or_null(check.next_step)}};
}

void print_json(const cli::Context& context, const Checks& checks) {
  Json document = cli::document(context, "chokepoint.doctor/1");
  document["verdict"] = name_of(worst(checks));
  Json list = Json::array();
  for (const Check& check : checks) {
    list.push_back(json_of(check));
  }
  document["checks"] = std::move(list);
  cli::print(context, document);
}

cli::Tint tint_of(Status status) {
  switch (status) {
    case Status::Pass:
      return cli::Tint::Good;
    case Status::Warning:
      return cli::Tint::Notice;
    case Status::Critical:
      return cli::Tint::Bad;
    case Status::Info:
    case Status::Unknown:
      break;
  }
  return cli::Tint::Faint;
}

std::string explained(const Check& check) {
  std::string text = check.why;
  if (!check.next_step.empty() && check.status != Status::Pass) {
    text += fmt::format("{}do: {}", text.empty() ? "" : "; ", check.next_step);
  }
  return text;
}

void print_table(const cli::Context& context, const Checks& checks, bool all) {
  cli::Table table(
      {{"status"}, {"check"}, {"subject"}, {"found"}, {"wanted"}, {"why, and what to do"}});
  std::size_t shown = 0;
  for (const Check& check : checks) {
    if (!all && check.status == Status::Pass) {
      continue;
    }
    table.add({{std::string(name_of(check.status)), tint_of(check.status)},
               check.id,
               check.subject,
               check.found,
               check.wanted,
               explained(check)});
    ++shown;
  }
  if (shown > 0) {
    table.print(context.out, context.out_terminal);
  }
  const std::string verdict(name_of(worst(checks)));
  fmt::print(context.out, "{}{}: {} checks, {} passed{}\n", shown > 0 ? "\n" : "",
             cli::tinted(verdict, tint_of(worst(checks)), context.out_terminal), checks.size(),
             std::ranges::count(checks, Status::Pass, &Check::status),
             all || shown == checks.size() ? "" : " (--all shows them)");
}

}  // namespace

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
              {"chokepoint doctor --json --strict", "for a script: exit code 3 on warnings, too"}}};
}

void DoctorCommand::define(cli::Flags& flags) {
  flags.group("What to show")
      .toggle("all,a", &all_, "also the checks that passed")
      .toggle("strict", &strict_, "exit code 3 on warnings, too")
      .group("Where to look")
      .option("root", &root_, "DIR",
              "read /proc, /sys and /etc below this folder: a copy taken from another host");
}

Result<cli::ExitCode> DoctorCommand::run(cli::Context& context) {
  if (root_ != "/") {
    context.root = sys::Root(root_);
    if (!context.root.exists("/")) {
      return fail(ErrorKind::NotFound, "", root_, "no such folder", "give the copy's top folder");
    }
  }
  const Checks checks = examine(host::read_inventory(context.root));
  if (context.json) {
    print_json(context, checks);
  } else {
    print_table(context, checks, all_);
  }
  const Status limit = strict_ ? Status::Warning : Status::Critical;
  return worst(checks) >= limit ? cli::ExitCode::Found : cli::ExitCode::Done;
}

}  // namespace chokepoint::probe
