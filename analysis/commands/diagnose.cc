#include "analysis/commands/diagnose.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include "analysis/commands/diagnose_follow.h"
#include "analysis/commands/diagnose_look.h"
#include "analysis/commands/diagnose_views.h"
#include "analysis/commands/judging.h"

namespace chokepoint::analysis {

cli::Summary DiagnoseCommand::summary() const {
  return {
      .name = "diagnose",
      .purpose = "what held a run back, by how much, and what to change",
      .description =
          "Accounts for the time of each step of a run from the records of its nodes: computing, "
          "waiting for a late rank, and communication that computing does not hide, split by what "
          "limited it. Names the largest part that a change could take away, where it is, how many "
          "milliseconds a step it costs, the measurements behind that, and what to do. Nothing in "
          "the records is changed.\n\n"
          "Where the data do not tell, the verdict is 'unknown', and what is missing is said. A "
          "run on which a link has no hold is 'compute'.\n\n"
          "The exit code is 0 whatever is found; with --exit-code it is 3 where a bottleneck was "
          "named, that is for every verdict but 'compute' and 'unknown'.",
      .examples = {
          {"chokepoint diagnose runs/a", "five lines on the run in runs/a"},
          {"chokepoint diagnose runs/a --all", "with all accounts, evidence and runners-up"},
          {"chokepoint diagnose runs/a --json", "the same for a script"},
          {"chokepoint diagnose runs/a --follow", "on a run that goes on, every two seconds"},
          {"chokepoint diagnose runs/a --exit-code", "is there a bottleneck? 3 is yes"}}};
}

void DiagnoseCommand::define(cli::Flags& flags) {
  flags.positional("DIR", &folder_, "the run's folder, or one node's .db file");
  flags.group("What to show")
      .toggle("all,a", &all_, "all accounts, evidence, runners-up, ranks, and what is missing")
      .toggle("exit-code", &exit_code_, "exit code 3 where a bottleneck was named")
      .group("A run that goes on")
      .toggle("follow,f", &follow_, "look again and again, until the run ends or Ctrl-C")
      .option("every", &every_, "TIME", "how long to wait between two looks");
  define_judging(flags, options_);
}

Result<> DiagnoseCommand::check() const {
  constexpr auto kLeastEvery = std::chrono::milliseconds(100);
  if (every_ < kLeastEvery) {
    return fail(ErrorKind::Usage, "", "--every", "is too short", "give at least 100ms");
  }
  return check_judging(options_);
}

cli::ExitCode exit_code_of(const Verdict& verdict) {
  const bool is_named =
      verdict.verdict != VerdictClass::Compute && verdict.verdict != VerdictClass::Unknown;
  return is_named ? cli::ExitCode::Found : cli::ExitCode::Done;
}

cli::ExitCode DiagnoseCommand::code_of(const Diagnosis& diagnosis) const {
  return exit_code_ ? exit_code_of(diagnosis.verdict) : cli::ExitCode::Done;
}

Result<cli::ExitCode> DiagnoseCommand::once(cli::Context& context) const {
  TRY(const Look look, look_at(folder_, options_));
  for (const Error& error : look.troubles) {
    fmt::print(context.err, "chokepoint: diagnose: {}\n", describe(error));
  }
  if (context.json) {
    cli::print(context, document_of(context, look.diagnosis));
  } else {
    print_page(context.out, context.out_terminal, look.diagnosis);
    if (all_) {
      print_details(context.out, context.out_terminal, look.diagnosis);
    }
  }
  return code_of(look.diagnosis);
}

Result<cli::ExitCode> DiagnoseCommand::run(cli::Context& context) {
  TRY(check());
  if (!follow_) {
    return once(context);
  }
  const Result<Followed> followed =
      follow(folder_, options_, {.every = every_, .all = all_}, context);
  if (!followed) {
    return std::unexpected(followed.error());
  }
  return followed->is_interrupted ? cli::ExitCode::Interrupted : code_of(followed->last);
}

}  // namespace chokepoint::analysis
