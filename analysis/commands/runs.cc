// chokepoint runs: the runs in a folder, with what each was and what held it back.
#include "analysis/commands/runs.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/commands/commands.h"
#include "analysis/commands/diagnose.h"
#include "analysis/commands/run_files.h"
#include "analysis/load/run_summary.h"
#include "base/cli/output.h"
#include "base/cli/table.h"
#include "base/cli/text.h"
#include "base/json/codec.h"
#include "base/record/runs.h"

namespace chokepoint::analysis {
namespace {

std::string state_of(const record::RunFolder& folder, const RunSummary& summary) {
  if (std::ranges::any_of(folder.records, record::is_being_written)) {
    return "running";
  }
  const bool is_whole = std::ranges::all_of(summary.nodes, &NodeSummary::is_complete);
  if (!is_whole) {
    return "cut off";
  }
  return summary.exit_status ? fmt::format("exit {}", *summary.exit_status) : "ended";
}

ListedRun list_run(const record::RunFolder& folder) {
  ListedRun listed{.path = folder.path.string()};
  auto records = records_of(listed.path);
  if (!records) {
    listed.trouble = describe(records.error());
    return listed;
  }
  for (const record::Reader& node : records->nodes) {
    for (const record::Session& session : node.sessions()) {
      if (!listed.started_at || session.start_wall_ns < listed.started_at->ns) {
        listed.started_at = {.ns = session.start_wall_ns};
      }
    }
  }
  const RunSummary summary = summarize(*records, {.count_rows = false});
  listed.duration_s = summary.duration_s;
  listed.state = state_of(folder, summary);
  listed.command = summary.command;
  for (const NodeSummary& node : summary.nodes) {
    listed.nodes.push_back(node.name);
  }
  if (const auto diagnosed = diagnose_folder(listed.path, {})) {
    const Diagnosis& diagnosis = diagnosed->inquiry.diagnosis;
    listed.steps = diagnosis.steps.count;
    listed.verdict = diagnosis.verdict.verdict;
    listed.headline = headline_of(diagnosis);
  } else {
    listed.trouble = describe(diagnosed.error());
  }
  return listed;
}

// "2026-11-26 10:03:21", UTC.
std::string moment_text(std::int64_t wall_ns) {
  constexpr std::size_t kDate = 10;
  constexpr std::size_t kSeconds = 19;
  std::string text = sys::rfc3339(wall_ns).substr(0, kSeconds);
  text[kDate] = ' ';
  return text;
}

std::string short_command(const std::string& command) {
  constexpr std::size_t kMaxBytes = 40;
  return command.size() <= kMaxBytes ? command
                                     : cli::valid_utf8(command.substr(0, kMaxBytes)) + "…";
}

void print_table(const cli::Context& context, const std::vector<ListedRun>& runs) {
  cli::Table table({{"run"},
                    {"began (UTC)"},
                    {"took", cli::Align::Right},
                    {"state"},
                    {"nodes", cli::Align::Right},
                    {"steps", cli::Align::Right},
                    {"command"},
                    {"verdict"}});
  for (const ListedRun& run : runs) {
    table.add({run.path, run.started_at ? moment_text(run.started_at->ns) : "",
               run.duration_s ? fmt::format("{:.0f} s", *run.duration_s) : "", run.state,
               fmt::format("{}", run.nodes.size()), fmt::format("{}", run.steps.value_or(0)),
               short_command(run.command), run.trouble.empty() ? run.headline : run.trouble});
  }
  table.print(context.out, context.out_terminal);
}

class RunsCommand final : public cli::Command {
 public:
  cli::Summary summary() const override {
    return {.name = "runs",
            .purpose = "the runs in a folder: when, what, and what held each back",
            .description =
                "Lists the runs below a folder, the newest first: when each began, how long it "
                "took and how it ended, its nodes, steps, command and verdict.",
            .examples = {{"chokepoint runs", "those in chokepoint-runs, where 'run' puts them"},
                         {"chokepoint runs runs --limit 100", "of another folder, more of them"},
                         {"chokepoint runs --json", "the same for a script"}}};
  }

  void define(cli::Flags& flags) override {
    flags.positional("DIR", &folder_, "the folder that holds them; default: chokepoint-runs",
                     false);
    flags.group("What to show")
        .option("limit", &limit_, "N", "at most so many, the newest", 1, kMaxLimit);
  }

  Result<cli::ExitCode> run(cli::Context& context) override {
    std::vector<record::RunFolder> folders = record::runs_below(folder_);
    if (folders.empty()) {
      return fail(ErrorKind::NotFound, "", folder_, "no run lies below",
                  "'chokepoint run -- COMMAND' makes one, in chokepoint-runs");
    }
    const std::size_t all = folders.size();
    folders.resize(std::min(folders.size(), static_cast<std::size_t>(limit_)));
    std::vector<ListedRun> runs;
    {
      cli::Progress progress(context, "reading", folders.size());
      for (const record::RunFolder& folder : folders) {
        progress.update(runs.size(), cli::printable(folder.path.string()));
        runs.push_back(list_run(folder));
      }
    }
    if (context.json) {
      cli::Json document = cli::document(context, Fields<RunList>::kSchema);
      document.update(json::to_json(RunList{.folder = folder_, .runs = std::move(runs)}));
      cli::print(context, document);
      return cli::ExitCode::Done;
    }
    print_table(context, runs);
    if (all > runs.size() && !context.quiet) {
      fmt::print(context.err, "chokepoint: runs: {} older ones are left out: --limit {}\n",
                 all - runs.size(), all);
    }
    return cli::ExitCode::Done;
  }

 private:
  static constexpr std::int64_t kMaxLimit = 10'000;

  std::string folder_ = record::kRunsFolder;
  std::int64_t limit_ = 20;
};

}  // namespace

cli::CommandFactory runs_command() { return cli::command<RunsCommand>(); }

}  // namespace chokepoint::analysis
