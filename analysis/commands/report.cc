#include "analysis/commands/report.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <filesystem>
#include <set>
#include <sstream>

#include "analysis/commands/judging.h"
#include "analysis/commands/report_views.h"
#include "analysis/commands/study.h"
#include "analysis/commands/written_file.h"
#include "base/page/page.h"

namespace chokepoint::analysis {
namespace {

namespace fs = std::filesystem;

std::string format_by_ending(const std::string& file) {
  const std::string ending = fs::path(file).extension();
  if (ending == ".md" || ending == ".markdown") {
    return "markdown";
  }
  return ending == ".txt" ? "text" : ending == ".json" ? "json" : "html";
}

cli::Terminal plain_terminal() { return {.interactive = false, .color = false, .width = 100}; }

std::string text_of(const Report& report, const cli::Terminal& terminal) {
  std::ostringstream text;
  print_report(text, terminal, report);
  return text.str();
}

std::string json_text(const cli::Json& document) {
  return document.dump(2, ' ', false, cli::Json::error_handler_t::replace) + "\n";
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
    return json_text(document);
  }
  return page::html_of({.title = report.diagnosis.run + " · chokepoint",
                        .view = "report",
                        .document = std::move(document),
                        .plain_text = text_of(report, plain_terminal())});
}

std::string ending_of(const std::string& format) {
  return format == "html"       ? ".html"
         : format == "markdown" ? ".md"
         : format == "json"     ? ".json"
                                : ".txt";
}

}  // namespace

cli::Summary ReportCommand::summary() const {
  return {
      .name = "report",
      .purpose = "a run as a page to open in a browser, or as text",
      .description =
          "Writes one file that opens from a mail or a ticket and asks no network for anything: "
          "the verdict with milliseconds a step and what to do, the account of every step, a "
          "timeline over all nodes, connections, hosts and paths against what would be possible, "
          "probes beside what the job reached, what was not measured, and where every number "
          "comes from.\n\n"
          "Without -o the page stands in the run's folder as report.html. The file's ending says "
          "how it is written: .html, .md (for a ticket), .txt, .json; --format goes before it.",
      .examples = {{"chokepoint report runs/a", "the page runs/a/report.html"},
                   {"chokepoint report runs/a -o a.html", "the same elsewhere"},
                   {"chokepoint report runs/a --format text", "on this terminal"},
                   {"chokepoint report runs/a -o ticket.md", "Markdown for a ticket"},
                   {"chokepoint report runs/a --json", "the page's data for a script"}}};
}

void ReportCommand::define(cli::Flags& flags) {
  flags.positional("DIR", &folders_, "a run's folder, or one node's .db file; a page for each");
  flags.group("Where to and how")
      .option("output,o", &output_, "FILE",
              "where to; '-' is standard output. Of several runs: a folder")
      .choice("format", &format_, {"html", "text", "markdown", "json"},
              "how; text and markdown go to standard output without -o");
  define_judging(flags, options_);
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
  if (folders_.size() > 1 && !output_.empty() && !fs::is_directory(output_)) {
    return fail(ErrorKind::Usage, "", output_, "is no folder, and several runs were given",
                "give a folder that is there; 'chokepoint compare' puts runs side by side");
  }
  if (format_.empty()) {
    format_ = fs::is_directory(output_) ? "html" : format_by_ending(output_);
  }
  const bool is_for_reading = format_ == "text" || format_ == "markdown" || format_ == "json";
  if (output_.empty() && is_for_reading) {
    output_ = kStandardOutput;
  }
  return check_files();
}

// A page must not take another's place: "a" and "../a" are both a.html in a folder of pages.
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

// In a folder of pages runs of one name are told apart by their paths.
std::string ReportCommand::file_for(const std::string& folder) const {
  const fs::path path = fs::path(folder).lexically_normal();
  if (output_.empty()) {
    return (fs::is_directory(path) ? path / "report.html" : fs::path(folder + ".html")).string();
  }
  if (!fs::is_directory(output_)) {
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
  TRY(Study studied, study(folder, options_));
  for (const Error& error : studied.troubles) {
    fmt::print(context.err, "chokepoint: report: {}\n", describe(error));
  }
  const Report report = report_of(studied.records, studied.run, studied.inquiry, options_);
  const bool is_on_screen = output_ == kStandardOutput;
  TRY(const std::string content,
      rendered(context, report, format_, is_on_screen ? context.out_terminal : plain_terminal()));
  if (is_on_screen) {
    context.out << content;
    return {};
  }
  const std::string file = file_for(folder);
  if (Result<> written = write_file(file, content); !written) {
    Error error = written.error();
    error.next_step = error.next_step.empty() ? "give another place with -o" : error.next_step;
    return std::unexpected(error);
  }
  if (!context.quiet) {
    fmt::print(context.err, "chokepoint: report: {}\n", file);
  }
  return {};
}

Result<cli::ExitCode> ReportCommand::run(cli::Context& context) {
  TRY(check(context));
  for (const std::string& folder : folders_) {
    TRY(report(context, folder));
  }
  return cli::ExitCode::Done;
}

}  // namespace chokepoint::analysis
