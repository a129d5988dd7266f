#include "analysis/commands/diagnose.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "analysis/commands/capture_files.h"
#include "analysis/commands/commands.h"
#include "analysis/commands/run_files.h"
#include "analysis/commands/run_history.h"
#include "base/cli/text.h"

namespace chokepoint::analysis {
namespace {

class DiagnoseCommand final : public cli::Command {
 public:
  cli::Summary summary() const override;
  void define(cli::Flags& flags) override;
  Result<cli::ExitCode> run(cli::Context& context) override;

 private:
  std::vector<std::string> given_run_;
  std::string folder_;
  std::optional<CapturedRecords> captured_;
  bool has_files_alone_ = false;
  Result<> find_run(const cli::Context& context);
  Result<DiagnosedRun> diagnosed();

  DiagnoseOptions options_;
  ConfirmFlags confirm_;
  GivenFiles given_;
  history::Flags history_;
  bool all_ = false;
  bool brief_ = false;
  bool exit_code_ = false;
};

cli::Summary DiagnoseCommand::summary() const {
  return {
      .name = "diagnose",
      .purpose = "what slowed a run down, by how much, and what to change",
      .description =
          "Accounts for the time of each step of a run from the records of its nodes: computing, "
          "waiting for a late rank, and communication not hidden by computing, split by what "
          "limited it. Names the largest part that a change could remove: where it is, how many "
          "milliseconds per step it costs, the evidence, and what to do. The records are not "
          "changed.\n\n"
          "If the data are not sufficient, the verdict is 'unknown', and the missing data are "
          "listed. A run that no link, path or host slows down is 'compute'.\n\n"
          "With --confirm the verdict is tested after the job has ended: by probes of the path and "
          "of paths for comparison, of processors or storage, or by the job's collective without "
          "the job. The tests run on the job's hosts by their 'chokepoint serve', within limits of "
          "time and rate. The result is kept in the run's folder, as confirmation.json, and "
          "changes the confidence. For an unknown verdict the tests search for the cause. A job "
          "that still runs is tested only if every node's 'run' had --allow-probes, and within the "
          "share given there.\n\n"
          "If the history has earlier runs of the same job, the step's time is compared with "
          "theirs.\n\n"
          "With --with and without DIR no record is used, and the verdict comes from the files of "
          "other tools alone: dumps of a job that hangs, traces of PyTorch's profiler, the table "
          "of a benchmark, the job's output.\n\n"
          "The exit code is 0 for any result; with --exit-code it is 3 if a bottleneck was found, "
          "that is for every verdict but 'compute' and 'unknown', and for wrong results of a "
          "benchmark.",
      .examples = {
          {"chokepoint diagnose runs/a", "five lines about the run in runs/a"},
          {"chokepoint diagnose runs/a --all", "with all accounts, evidence and runners-up"},
          {"chokepoint diagnose runs/a --ceiling before.json",
           "compared with what 'chokepoint probe tcp HOST --json' printed before the run"},
          {"chokepoint diagnose runs/a --confirm --key-file KEY",
           "tested on the job's hosts, each of which runs 'chokepoint serve --key-file KEY'"},
          {"chokepoint diagnose runs/a --with dumps --with sacct.txt --all",
           "together with PyTorch's dumps and Slurm's accounts of the same job"},
          {"chokepoint diagnose --with dumps",
           "why a job hangs, by PyTorch's dumps alone: docs/guide/hangs.md"},
          {"chokepoint diagnose --with trace*.json",
           "where a step's time goes, by traces of PyTorch's profiler alone"},
          {"chokepoint diagnose job.pcap", "by what tcpdump saw on one of the job's hosts"},
          {"chokepoint diagnose runs/a --json", "the same for a script"},
          {"chokepoint diagnose runs/a --exit-code", "is there a bottleneck? exit code 3: yes"}}};
}

void DiagnoseCommand::define(cli::Flags& flags) {
  flags
      .positional(
          "DIR", &given_run_,
          "the run's folder or its name in chokepoint-runs, one node's .db file, or captures "
          "of the job (pcap, pcapng, gzip, zstd); default: the newest run here, or with "
          "--with no record at all",
          false)
      .a_run();
  flags.group("What to show")
      .toggle("all,a", &all_, "all accounts, evidence, runners-up, ranks, and missing data")
      .toggle("brief", &brief_, "one line: the verdict, or whose records it still needs")
      .toggle("exit-code", &exit_code_, "exit code 3 if a bottleneck was found");
  define_judging(flags, options_);
  define_given(flags, given_);
  define_confirm(flags, confirm_);
  history::define_to_read(flags, history_);
}

Result<> DiagnoseCommand::find_run(const cli::Context& context) {
  TRY(take_tool_files(given_run_, given_));
  // The newest run here may be of another job than the files.
  has_files_alone_ = given_run_.empty() && !given_.with.empty();
  TRY(const bool is_captured, are_captures(given_run_));
  if (confirm_.is_wanted && (is_captured || has_files_alone_)) {
    return fail(ErrorKind::Usage, "", "--confirm", "tests the hosts of a run's record",
                "give DIR, the run's folder");
  }
  if (is_captured) {
    TRY(CapturedRecords records, CapturedRecords::read(given_run_));
    captured_.emplace(std::move(records));
  } else if (!has_files_alone_) {
    TRY(folder_, choose_run(context, "diagnose", given_run_.empty() ? "" : given_run_.front()));
  }
  return {};
}

Result<DiagnosedRun> DiagnoseCommand::diagnosed() {
  if (captured_) {
    return diagnose_captures(*captured_, options_, given_);
  }
  if (has_files_alone_) {
    return diagnose_files(options_, given_);
  }
  return confirm_.is_wanted ? diagnose_unconfirmed(folder_, options_, given_)
                            : diagnose_folder(folder_, options_, given_);
}

Result<cli::ExitCode> DiagnoseCommand::run(cli::Context& context) {
  TRY(check_judging(options_));
  if (brief_ && all_) {
    return fail(ErrorKind::Usage, "", "--brief", "is the verdict alone, --all is everything",
                "give one of the two");
  }
  TRY(find_run(context));
  TRY(DiagnosedRun run, diagnosed());
  print_troubles(context, "diagnose", run.troubles);
  if (!folder_.empty()) {
    compare_with_earlier(history_, context, run, folder_);
  }
  bool is_interrupted = false;
  if (confirm_.is_wanted) {
    TRY(is_interrupted, confirm_run(context, folder_, options_, confirm_, run));
  }
  const Diagnosis& diagnosis = run.inquiry.diagnosis;
  if (context.json) {
    cli::print(context, document_of(context, diagnosis));
  } else if (brief_) {
    const std::string absent = absent_ranks(run.run);
    fmt::print(context.out, "{}\n",
               cli::printable(absent.empty() ? headline_of(diagnosis)
                                             : fmt::format("no record of {} here", absent)));
  } else {
    print_page(context.out, context.out_terminal, diagnosis);
    if (all_) {
      print_details(context.out, context.out_terminal, diagnosis);
    }
  }
  return is_interrupted ? cli::ExitCode::Interrupted
         : exit_code_   ? exit_code_of(diagnosis.verdict)
                        : cli::ExitCode::Done;
}

}  // namespace

cli::ExitCode exit_code_of(const Verdict& verdict) {
  const bool is_named =
      verdict.verdict != VerdictClass::Compute && verdict.verdict != VerdictClass::Unknown;
  return is_named || verdict.cause == Cause::WrongResults ? cli::ExitCode::Found
                                                          : cli::ExitCode::Done;
}

cli::CommandFactory diagnose_command() { return cli::command<DiagnoseCommand>(); }

}  // namespace chokepoint::analysis
