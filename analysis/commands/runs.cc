// chokepoint runs: the runs in a folder, with what each was and what held it back.
#include "analysis/commands/runs.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
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

// The runs below, or the one that it is itself.
std::vector<record::RunFolder> listed_in(const std::string& folder) {
  std::vector<record::RunFolder> folders = record::runs_below(folder);
  if (auto records = record::record_files(folder);
      folders.empty() && records && !records->empty()) {
    folders.push_back({.path = folder, .records = *std::move(records)});
  }
  return folders;
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
    listed.step_ms = diagnosis.steps.mean_ms;
    listed.verdict = diagnosis.verdict.verdict;
    listed.headline = headline_of(diagnosis);
  } else {
    listed.trouble = describe(diagnosed.error());
  }
  return listed;
}

std::string short_command(const std::string& command) {
  constexpr std::size_t kMaxBytes = 40;
  return command.size() <= kMaxBytes ? command
                                     : cli::valid_utf8(command.substr(0, kMaxBytes)) + "…";
}

std::string step_text(const ListedRun& run) {
  return run.step_ms ? fmt::format("{:.1f}", *run.step_ms) : "";
}

// What a command takes for it: its name, of those in chokepoint-runs.
std::string name_in(const std::string& folder, const std::string& path) {
  const std::string above = folder + "/";
  return folder == record::kRunsFolder && path.starts_with(above) ? path.substr(above.size())
                                                                  : path;
}

std::string headline_text(const ListedRun& run) {
  return run.trouble.empty() ? run.headline : run.trouble;
}

void print_details(const cli::Context& context, const std::vector<ListedRun>& runs) {
  cli::Table table({{"run"},
                    {"began (UTC)"},
                    {"took", cli::Align::Right},
                    {"state"},
                    {"nodes", cli::Align::Right},
                    {"steps", cli::Align::Right},
                    {"ms a step", cli::Align::Right},
                    {"command"},
                    {"verdict"}});
  for (const ListedRun& run : runs) {
    table.add({run.path, run.started_at ? moment_text(run.started_at->ns) : "",
               run.duration_s ? fmt::format("{:.0f} s", *run.duration_s) : "", run.state,
               fmt::format("{}", run.nodes.size()), fmt::format("{}", run.steps.value_or(0)),
               step_text(run), short_command(run.command), headline_text(run)});
  }
  table.print(context.out, context.out_terminal);
}

// Of a run that ended well, its verdict's class alone.
std::string outcome_of(const ListedRun& run) {
  const std::string verdict = run.verdict ? name_of(*run.verdict) : "not readable";
  const bool is_usual = run.state.empty() || run.state == "ended" || run.state == "exit 0";
  return is_usual ? verdict : fmt::format("{}, {}", verdict, run.state);
}

// Fits 80 columns where a run's name has no more than 29, as those of Slurm and torchrun.
void print_table(const cli::Context& context, const std::string& folder,
                 const std::vector<ListedRun>& runs) {
  constexpr std::size_t kYear = 5;  // bytes, with its hyphen
  constexpr std::size_t kMinutes = 11;
  cli::Table table({{"run"},
                    {"began (UTC)"},
                    {"nodes", cli::Align::Right},
                    {"ms a step", cli::Align::Right},
                    {"verdict"}});
  for (const ListedRun& run : runs) {
    const std::string moment = run.started_at ? moment_text(run.started_at->ns) : "";
    table.add({name_in(folder, run.path), moment.empty() ? "" : moment.substr(kYear, kMinutes),
               fmt::format("{}", run.nodes.size()), step_text(run), outcome_of(run)});
  }
  table.print(context.out, context.out_terminal);
}

class RunsCommand final : public cli::Command {
 public:
  cli::Summary summary() const override {
    return {.name = "runs",
            .purpose = "the runs in a folder: when, what, and what held each back",
            .description =
                "Lists the runs below a folder, the newest first: when each began, its nodes, the "
                "mean time of a step, the verdict's class, and how it ended if not well. --all "
                "adds how long it took, how many steps it made, its command, and the verdict in "
                "words.\n\n"
                "Other commands take a run of chokepoint-runs by its name, and the newest by "
                "'latest'.",
            .examples = {{"chokepoint runs", "those in chokepoint-runs, where 'run' puts them"},
                         {"chokepoint runs runs --limit 100", "of another folder, more of them"},
                         {"chokepoint diagnose latest", "what held the newest of them back"},
                         {"chokepoint runs --json", "the same for a script"}}};
  }

  void define(cli::Flags& flags) override {
    flags.positional("DIR", &folder_, "the folder that holds them; default: chokepoint-runs",
                     false);
    flags.group("What to show")
        .option("limit", &limit_, "N", "at most so many, the newest", 1, kMaxLimit)
        .toggle("all,a", &all_, "what each did, and its verdict in words");
  }

  Result<cli::ExitCode> run(cli::Context& context) override {
    std::vector<record::RunFolder> folders = listed_in(folder_);
    std::error_code ignored;
    if (folders.empty() && !std::filesystem::exists(folder_, ignored)) {
      return fail(ErrorKind::NotFound, "", folder_, "no such folder",
                  "'chokepoint runs' shows those of chokepoint-runs, 'chokepoint runs DIR' others");
    }
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
    if (all_) {
      print_details(context, runs);
    } else {
      print_table(context, folder_, runs);
    }
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
  bool all_ = false;
};

}  // namespace

cli::CommandFactory runs_command() { return cli::command<RunsCommand>(); }

}  // namespace chokepoint::analysis
