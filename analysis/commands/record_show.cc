// chokepoint record show: what the records of a run hold.
#include "analysis/commands/commands.h"
#include "analysis/commands/record_views.h"
#include "analysis/commands/run_files.h"

namespace chokepoint::analysis {
namespace {

class RecordShowCommand final : public cli::Command {
 public:
  cli::Summary summary() const override;
  void define(cli::Flags& flags) override;
  Result<cli::ExitCode> run(cli::Context& context) override;

 private:
  std::string folder_;
};

cli::Summary RecordShowCommand::summary() const {
  return {.name = "record show",
          .purpose = "what a run's record holds",
          .description =
              "Reads every node's record in a run's folder and shows what is in it: the command "
              "and how it ended, nodes, steps, volume, rows by kind, what was dropped and what "
              "happened. A record can be read while it is being written, after its writer was "
              "killed, and from a folder that cannot be written to; nothing in it is changed.",
          .examples = {{"chokepoint record show runs/a", "the records of the run in runs/a"},
                       {"chokepoint record show runs/a --json", "the same for a script"}}};
}

void RecordShowCommand::define(cli::Flags& flags) {
  flags.positional("DIR", &folder_,
                   "the run's folder, or one node's .db file; default: the newest run here", false);
}

Result<cli::ExitCode> RecordShowCommand::run(cli::Context& context) {
  TRY(folder_, choose_run(context, "record show", folder_));
  TRY(record::Run run, open_records(folder_));
  const RunSummary summary = summarize(run);
  print_troubles(context, "record show", troubles_of(summary));
  if (run.nodes.empty()) {
    return fail(ErrorKind::Malformed, "", folder_, "none of its records can be read");
  }
  if (context.json) {
    cli::print(context, document_of(context, summary));
  } else {
    print_page(context, summary);
  }
  return cli::ExitCode::Done;
}

}  // namespace

cli::CommandFactory record_show_command() { return cli::command<RecordShowCommand>(); }

}  // namespace chokepoint::analysis
