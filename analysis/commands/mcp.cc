// chokepoint mcp: the commands that read runs, as tools of the Model Context Protocol for an
// assistant. Each call is a child process of this program that runs the command as typed.
#include <fmt/format.h>
#include <fmt/ostream.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "analysis/commands/commands.h"
#include "analysis/commands/compare.h"
#include "analysis/commands/diagnose.h"
#include "analysis/commands/explain.h"
#include "analysis/commands/history.h"
#include "analysis/commands/predict_document.h"
#include "analysis/commands/runs.h"
#include "analysis/load/run_summary.h"
#include "analysis/mcp/child_call.h"
#include "analysis/mcp/server.h"
#include "analysis/mcp/stream.h"
#include "base/documents/doctor.h"
#include "base/documents/published_schema.h"
#include "base/history/server_url.h"
#include "base/sys/signals.h"

namespace chokepoint::analysis {
namespace {

constexpr const char* kMcp = "mcp";

// What of predict only computes; --check and its RUN print another document.
std::vector<std::string> figures_of_predict() {
  return {"from",        "parameters",      "type",        "ranks",         "nodes",
          "steps",       "epochs",          "single-time", "compute",       "measured-time",
          "parallelism", "backend",         "overlap",     "bucket",        "layers",
          "hidden",      "batch",           "sequence",    "micro-batches", "vocabulary",
          "activations", "heads",           "gpu-memory",  "optimizer",     "recompute",
          "power",       "request",         "response",    "calls",         "outstanding",
          "call-time",   "call-rate",       "link",        "intra-link",    "nics",
          "throughput",  "throughput-back", "rtt",         "loss",          "window",
          "congestion",  "transport",       "algorithm",   "curve",         "late",
          "rank-order",  "upgrade",         "runs",        "hour-price"};
}

std::vector<std::string> for_document() { return {"--json", "--quiet"}; }

cli::Json schema_with_head(std::string_view name, std::string_view command,
                           const cli::Json& parts) {
  return documents::schema_of_parts(name, documents::printed_by(command), parts);
}

std::vector<mcp::ToolSource> sources_of_runs() {
  return {
      {.name = "runs",
       .command = runs_command(),
       .use = "The newest first, each with its folder, its steps and its verdict in words. Call it "
              "first, for the names of runs that other tools take.",
       .allowed = {"DIR", "limit"},
       .always = for_document(),
       .schema = documents::document_schema<RunList>()},
      {.name = "diagnose",
       .command = diagnose_command(),
       .use = "Where a step's time goes, and the verdict: the cause, where it is, milliseconds a "
              "step, confidence, evidence, and what to do. 'unknown' lists what data lack.",
       .allowed = {"DIR", "wan-rtt-ms", "ceiling", "with"},
       .always = for_document(),
       .schema = schema_with_head("chokepoint.diagnosis/1", "diagnose", diagnosis_schema())},
      {.name = "compare",
       .command = compare_command(),
       .use = "A row for each setup, differences that are significant, and the part of a step that "
              "grew. Call it for whether a change helped.",
       .allowed = {"DIR", "by", "baseline", "metric", "least", "samples-label", "wan-rtt-ms"},
       .always = for_document(),
       .schema = schema_with_head("chokepoint.comparison/1", "compare", comparison_schema())},
      {.name = "predict",
       .command = predict_command(),
       .use =
           "From a recorded run (from) or from figures alone, with a range and what was assumed. "
           "Call it for what another link, round trip or number of ranks would change, and what "
           "an upgrade is worth.",
       .allowed = figures_of_predict(),
       .always = for_document(),
       .schema = documents::document_schema<ShownPrediction>()}};
}

mcp::ToolSource source_of_history() {
  return {.name = "history",
          .command = history_commands().front(),  // not those that add, send or remove
          .use =
              "Over all tests and runs that are remembered, the worst first: each finding with "
              "its figures before and after, the last good and the first bad measurement, and "
              "the settings that changed on that host between them. Call it for why something "
              "is slower than before.",
          .allowed = {"SUBJECT", "metric", "since"},
          .always = for_document(),
          .schema = documents::document_schema<ShownHistory>()};
}

std::vector<mcp::ToolSource> sources_beside_runs(const cli::CommandFactory& doctor) {
  return {
      {.name = "explain",
       .command = explain_command(),
       .use = "Takes the name of a class or a cause of a verdict, of a check, or of a known trap. "
              "Without one it returns all of them, which is long.",
       .allowed = {"NAME"},
       .always = for_document(),
       .schema = documents::document_schema<Explanation>()},
      {.name = "record_show",
       .command = record_show_command(),
       .use = "Nodes, command, labels, rows by kind, what was dropped and what happened. Call it "
              "for whether a record is whole.",
       .allowed = {"DIR"},
       .always = for_document(),
       .schema = documents::document_schema<RunSummary>()},
      {.name = "report",
       .command = report_command(),
       .use = "Returns the text, for people: verdict, accounts, connections with their limits, "
              "hosts, and what was not measured.",
       .allowed = {"DIR", "wan-rtt-ms", "ceiling", "with"},
       .always = {"--format=text", "--quiet"}},
      {.name = "checks",
       .command = doctor,
       .use = "Of the host on which this server runs, or of a copy of another host's files (root). "
              "Each finding has its reason and the command that fixes it; changes nothing.",
       .allowed = {"root"},
       .always = for_document(),
       .schema = documents::document_schema<documents::Doctor>()}};
}

Result<std::vector<mcp::Tool>> tools_of(const cli::CommandFactory& doctor) {
  std::vector<mcp::Tool> tools;
  for (const auto& sources :
       {sources_of_runs(), {source_of_history()}, sources_beside_runs(doctor)}) {
    for (const mcp::ToolSource& source : sources) {
      TRY(mcp::Tool tool, mcp::tool_of(source));
      tools.push_back(std::move(tool));
    }
  }
  return tools;
}

class McpCommand final : public cli::Command {
 public:
  explicit McpCommand(cli::CommandFactory doctor) : doctor_(std::move(doctor)) {}

  cli::Summary summary() const override {
    return {
        .name = kMcp,
        .purpose = "lets an assistant ask about runs, by the Model Context Protocol",
        .description =
            "A server of the Model Context Protocol on standard input and output, for the "
            "configuration of an assistant's client, which starts it. Its tools are commands "
            "of this program that read: runs, diagnose, compare, predict, history, explain, "
            "record show, report and doctor. They take the flags of these commands that neither "
            "write nor connect, and return the documents that --json prints.\n\n"
            "It ends when its input ends. Each call is a process of its own, which has two "
            "minutes.",
        .examples = {{"chokepoint mcp", "runs in chokepoint-runs here"},
                     {"chokepoint mcp --dir /data/training", "in /data/training/chokepoint-runs"}},
        .json = false};
  }

  void define(cli::Flags& flags) override {
    flags.group("Where to look")
        .option("dir", &folder_, "DIR",
                "where the commands run: chokepoint-runs and relative paths are looked for there");
    history::define_to_read(flags, history_);
  }

  Result<cli::ExitCode> run(cli::Context& context) override {
    std::error_code failed;
    if (!std::filesystem::is_directory(folder_, failed)) {
      return fail(ErrorKind::Usage, "", folder_, "is no folder",
                  "give the one in which chokepoint-runs lies");
    }
    TRY(std::vector<mcp::Tool> tools, tools_of(doctor_));
    if (isatty(STDIN_FILENO) == 1 && !context.quiet) {
      fmt::print(
          context.err,
          "chokepoint: mcp: reads messages of a client: docs/guide/mcp.md; Ctrl-D ends it\n");
    }
    // Before the signals, which when they go restore what was held.
    sys::hold_broken_pipe();
    TRY(const sys::Signals signals, sys::Signals::watch_for_end());
    mcp::Server server(context.version, std::move(tools),
                       mcp::ChildCall{.folder = folder_,
                                      .history = history_to_read(context),
                                      .interrupt = signals.descriptor()});
    TRY(const mcp::ServedUntil until,
        mcp::serve(STDIN_FILENO, STDOUT_FILENO, signals.descriptor(), server));
    return until == mcp::ServedUntil::Interrupted ? cli::ExitCode::Interrupted
                                                  : cli::ExitCode::Done;
  }

 private:
  // A file is that of this process's folder, wherever the commands run.
  std::string history_to_read(const cli::Context& context) const {
    const std::string place =
        history::place_of(history_, context).value_or(std::string(history::kNone));
    return place == history::kNone || history::is_server_url(place)
               ? place
               : std::filesystem::absolute(place).string();
  }

  cli::CommandFactory doctor_;
  std::string folder_ = ".";
  history::Flags history_;
};

}  // namespace

cli::CommandFactory mcp_command(cli::CommandFactory doctor) {
  return cli::command<McpCommand>(std::move(doctor));
}

}  // namespace chokepoint::analysis
