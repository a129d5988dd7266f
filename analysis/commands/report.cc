// chokepoint report: a run as a page for a browser, as text for a terminal, or as Markdown for a
// ticket.
#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <sstream>

#include "analysis/commands/capture_files.h"
#include "analysis/commands/commands.h"
#include "analysis/commands/diagnose.h"
#include "analysis/commands/run_files.h"
#include "analysis/commands/run_history.h"
#include "analysis/commands/text_views.h"
#include "analysis/report/report_document.h"
#include "base/json/codec.h"
#include "base/page/page.h"

namespace chokepoint::analysis {
namespace {

namespace fs = std::filesystem;

std::string format_by_ending(const std::string& file) {
  const std::string ending = fs::path(file).extension();
  if (ending == ".md" || ending == ".markdown") {
    return "markdown";
  }
  return ending == ".txt"                                        ? "text"
         : ending == ".json"                                     ? "json"
         : ending == ".html" || ending == ".htm" || file.empty() ? "html"
                                                                 : "";
}

// False also where it cannot be seen.
bool is_folder_at(const fs::path& path) {
  std::error_code failed;
  return fs::is_directory(path, failed);
}

constexpr cli::Terminal kPlainTerminal{.interactive = false, .color = false, .width = 100};

std::string text_of(const Report& report, const cli::Terminal& terminal) {
  std::ostringstream text;
  print_report(text, terminal, report);
  return text.str();
}

// The chokepoint.report/1 document, which the page holds as it is.
cli::Json document_of(const cli::Context& context, const Report& report) {
  ReportDocument whole = document_of(report);
  whole.program = context.version;
  whole.summary.document = document_of(context, report.summary);
  whole.diagnosis.document = document_of(context, report.diagnosis);
  cli::Json document = cli::document(context, Fields<ReportDocument>::kSchema);
  document.update(json::to_json(whole));
  return document;
}

Result<std::string> rendered(const cli::Context& context, const Report& report,
                             const std::string& format, const cli::Terminal& terminal) {
  if (format == "text") {
    return text_of(report, terminal);
  }
  if (format == "markdown") {
    return markdown_of(report);
  }
  cli::Json document = document_of(context, report);
  if (format == "json") {
    return document.dump(2, ' ', false, cli::Json::error_handler_t::replace) + "\n";
  }
  return page::html_of({.title = report.diagnosis.run + " · chokepoint",
                        .view = "report",
                        .document = std::move(document),
                        .plain_text = text_of(report, kPlainTerminal)});
}

std::string ending_of(const std::string& format) {
  return format == "html"       ? ".html"
         : format == "markdown" ? ".md"
         : format == "json"     ? ".json"
                                : ".txt";
}

class ReportCommand : public cli::Command {
 public:
  cli::Summary summary() const override;
  void define(cli::Flags& flags) override;
  Result<cli::ExitCode> run(cli::Context& context) override;

 private:
  Result<> check(const cli::Context& context);
  Result<> check_files() const;
  Result<bool> captures_given();
  Result<> report(cli::Context& context, const std::string& folder) const;
  std::string file_for(const std::string& folder) const;

  std::vector<std::string> folders_;
  std::vector<std::string> captures_;
  std::optional<CapturedRecords> captured_;
  std::string output_;
  std::string format_;
  DiagnoseOptions options_;
  GivenFiles given_;
  history::Flags history_;
};

cli::Summary ReportCommand::summary() const {
  return {
      .name = "report",
      .purpose = "a run as an HTML page or as text",
      .description =
          "Writes one self-contained file that can be attached to a mail or a ticket and loads "
          "nothing from the network: the verdict with milliseconds per step and what to do, the "
          "account of every step, a timeline of all nodes, connections, hosts and paths with their "
          "limits, probes compared with the job's throughput, what was not measured, and the "
          "source of every number.\n\n"
          "With --with and without DIR no record is used: the page shows the files of other tools "
          "alone.\n\n"
          "Without -o the page is written to the run's folder as report.html. The file's extension "
          "selects the format: .html, .md (for a ticket), .txt, .json; --format overrides it.",
      .examples = {{"chokepoint report runs/a", "the page runs/a/report.html"},
                   {"chokepoint report runs/a -o a.html", "the page in another file"},
                   {"chokepoint report runs/a --format text", "as text on this terminal"},
                   {"chokepoint report runs/a -o ticket.md", "Markdown for a ticket"},
                   {"chokepoint report --with dumps", "what PyTorch's dumps say, in report.html"},
                   {"chokepoint report job.pcap", "what a capture shows: the page job.pcap.html"},
                   {"chokepoint report runs/a --json", "the page's data for a script"}}};
}

void ReportCommand::define(cli::Flags& flags) {
  flags
      .positional(
          "DIR", &folders_,
          "a run's folder or its name in chokepoint-runs, or one node's .db file; a page for each; "
          "or "
          "captures of one job (pcap, pcapng, gzip, zstd); default: the newest run here, or "
          "with --with no record at all",
          false)
      .a_run();
  flags.group("Output")
      .option("output,o", &output_, "FILE",
              "output file; '-' is standard output. For several runs: a folder")
      .choice("format", &format_, {"html", "text", "markdown", "json"},
              "output format; without -o, text and markdown go to standard output");
  define_judging(flags, options_);
  define_given(flags, given_);
  history::define_to_read(flags, history_);
}

Result<> ReportCommand::check(const cli::Context& context) {
  TRY(check_judging(options_));
  if (context.json) {
    if (folders_.size() > 1) {
      return fail(ErrorKind::Usage, "", "--json",
                  "prints one document, and several runs were given",
                  "give one DIR, or -o FOLDER --format json");
    }
    format_ = "json";
    output_ = output_.empty() ? kStandardOutput : output_;
  }
  if (folders_.size() > 1 && !output_.empty() && !is_folder_at(output_)) {
    return fail(ErrorKind::Usage, "", output_, "not a folder, and several runs were given",
                "give an existing folder; 'chokepoint compare' puts runs side by side");
  }
  TRY(check_no_record(output_));
  if (format_.empty()) {
    format_ =
        is_folder_at(output_) || output_ == kStandardOutput ? "html" : format_by_ending(output_);
  } else if (const std::string ending = is_folder_at(output_) ? "" : format_by_ending(output_);
             !output_.empty() && output_ != kStandardOutput && !ending.empty() &&
             ending != format_) {
    return fail(ErrorKind::Usage, "", output_, "is the name of another format than " + format_,
                "give a fitting name");
  }
  if (format_.empty()) {
    return fail(ErrorKind::Usage, "", output_, "the format is not known from the name",
                "end it with .html, .md, .txt or .json, or give --format");
  }
  const bool is_for_reading = format_ == "text" || format_ == "markdown" || format_ == "json";
  if (output_.empty() && is_for_reading) {
    output_ = kStandardOutput;
  }
  return check_files();
}

// No page may replace another: "a" and "../a" are both a.html in a folder of pages.
Result<> ReportCommand::check_files() const {
  std::set<std::string> files;
  for (const std::string& folder : folders_) {
    if (output_ != kStandardOutput && !files.insert(file_for(folder)).second) {
      return fail(ErrorKind::Usage, "", file_for(folder), "would be the page of two runs",
                  "give these runs one after the other, each with its own -o");
    }
  }
  return {};
}

// In a folder of pages, paths distinguish runs of one name.
std::string ReportCommand::file_for(const std::string& folder) const {
  const fs::path path = fs::path(folder).lexically_normal();
  if (output_.empty() && folder.empty()) {
    return "report.html";
  }
  if (output_.empty()) {
    return (is_folder_at(path) ? path / "report.html" : fs::path(folder + ".html")).string();
  }
  if (!is_folder_at(output_)) {
    return output_;
  }
  std::string name;
  for (const fs::path& part : path.relative_path()) {
    if (part != ".." && part != "." && !part.empty()) {
      name += (name.empty() ? "" : "-") + part.string();
    }
  }
  return (fs::path(output_) / ((name.empty() ? "report" : name) + ending_of(format_))).string();
}

Result<> ReportCommand::report(cli::Context& context, const std::string& folder) const {
  TRY(DiagnosedRun diagnosed, captured_        ? diagnose_captures(*captured_, options_, given_)
                              : folder.empty() ? diagnose_files(options_, given_)
                                               : diagnose_folder(folder, options_, given_));
  print_troubles(context, "report", diagnosed.troubles);
  if (!captured_ && !folder.empty()) {
    compare_with_earlier(history_, context, diagnosed, folder);
  }
  const Report report = report_of(diagnosed.records, diagnosed.run, diagnosed.inquiry, options_);
  const bool is_on_screen = output_ == kStandardOutput;
  TRY(const std::string content,
      rendered(context, report, format_, is_on_screen ? context.out_terminal : kPlainTerminal));
  if (is_on_screen) {
    context.out << content;
    return {};
  }
  const std::string file = file_for(folder);
  if (Result<> written =
          file == output_ ? write_file(file, content) : write_own_file(file, content);
      !written) {
    Error error = written.error();
    error.next_step = error.next_step.empty() ? "give another place with -o" : error.next_step;
    return std::unexpected(error);
  }
  if (!context.quiet) {
    fmt::print(context.err, "chokepoint: report: {}\n", file);
  }
  return {};
}

// Captures of one job are one run, and so one page, which lies beside the first of them.
Result<bool> ReportCommand::captures_given() {
  if (std::ranges::none_of(folders_, is_capture_file)) {
    return false;
  }
  TRY(const bool is_captured, are_captures(folders_));
  captures_ = folders_;
  folders_.resize(1);
  return is_captured;
}

Result<cli::ExitCode> ReportCommand::run(cli::Context& context) {
  TRY(take_tool_files(folders_, given_));
  if (folders_.empty()) {
    folders_.emplace_back();
  }
  TRY(const bool is_captured, captures_given());
  // Without a folder, files of other tools are all that there is.
  for (std::string& folder : folders_) {
    if (!is_captured && (!folder.empty() || given_.with.empty())) {
      TRY(folder, choose_run(context, "report", folder));
    }
  }
  TRY(check(context));
  if (is_captured) {
    TRY(CapturedRecords records, CapturedRecords::read(captures_));
    captured_.emplace(std::move(records));
  }
  for (const std::string& folder : folders_) {
    TRY(report(context, folder));
  }
  return cli::ExitCode::Done;
}

}  // namespace

cli::CommandFactory report_command() { return cli::command<ReportCommand>(); }

}  // namespace chokepoint::analysis
