#include "analysis/commands/run_files.h"

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <string_view>

#include "analysis/attribution/given_claims.h"
#include "analysis/attribution/printed_steps.h"
#include "analysis/attribution/traces.h"
#include "analysis/commands/commands.h"
#include "analysis/confirm/judge.h"
#include "analysis/confirm/plan.h"
#include "analysis/confirm/saved_tests.h"
#include "analysis/evidence/tool_files.h"
#include "base/cli/output.h"
#include "base/cli/text.h"
#include "base/record/runs.h"
#include "base/record/schema.h"
#include "base/sys/file.h"

namespace chokepoint::analysis {
namespace {

namespace fs = std::filesystem;

// A record may hold several jobs; only the last one is diagnosed.
std::vector<std::string> jobs_left_out(const record::Run& run) {
  std::vector<std::string> lines;
  for (const record::Reader& node : run.nodes) {
    const auto jobs = std::ranges::count_if(
        node.sessions(), [](const auto& session) { return !session.command.empty(); });
    if (jobs > 1) {
      lines.push_back(
          fmt::format("the record of {} holds {} jobs: this is the last; use 'run --out' with a "
                      "folder for each",
                      node.node(), jobs));
    }
  }
  return lines;
}

// Advised commands say DIR for the run's folder, or for the files where there is no record.
void replace_dir(Verdict& verdict, const std::string& path, bool is_record) {
  constexpr std::string_view kPlaceholder = "DIR";
  const std::string folder = (is_record ? "" : "--with ") + record::shell_line(std::array{path});
  for (Advice& advice : verdict.advice) {
    const std::size_t at = advice.command.find(kPlaceholder);
    if (at != std::string::npos) {
      advice.command.replace(at, kPlaceholder.size(), folder);
    }
  }
}

}  // namespace

Error without_operation(Error error) {
  error.operation.clear();
  return error;
}

std::string name_of_folder(const std::string& folder) {
  const fs::path path = fs::path(folder).lexically_normal();
  return path.has_filename() ? path.string() : path.parent_path().string();
}

namespace {

std::unexpected<Error> several_runs(const std::string& folder,
                                    const std::vector<record::RunFolder>& runs) {
  constexpr std::size_t kMaxNamed = 8;
  std::vector<std::string> names;
  for (std::size_t run = 0; run < std::min(kMaxNamed, runs.size()); ++run) {
    names.push_back(runs[run].path.string());
  }
  return fail(ErrorKind::Usage, "", folder,
              fmt::format("holds {} runs, the newest first: {}{}", runs.size(),
                          fmt::join(names, ", "), runs.size() > kMaxNamed ? ", …" : ""),
              "give one of them; 'chokepoint runs' shows more about each");
}

}  // namespace

std::unexpected<Error> no_run_here() {
  return fail(ErrorKind::Usage, "", "DIR", "missing, and no run lies in chokepoint-runs here",
              "give the folder that 'chokepoint run' named at its end");
}

std::string moment_text(std::int64_t wall_ns) {
  constexpr std::size_t kDate = 10;
  constexpr std::size_t kSeconds = 19;
  std::string text = sys::rfc3339(wall_ns).substr(0, kSeconds);
  text[kDate] = ' ';
  return text;
}

std::string path_of_run(const std::string& given) {
  std::error_code failed;
  if (given.empty() || given.contains('/') || given.starts_with('.') || fs::exists(given, failed)) {
    return given;
  }
  if (given == kLatestRun) {
    const auto runs = record::runs_below(record::kRunsFolder);
    return runs.empty() ? given : runs.front().path.string();
  }
  const fs::path below = fs::path(record::kRunsFolder) / given;
  return fs::is_directory(below, failed) ? below.string() : given;
}

std::vector<std::string> run_names() {
  std::vector<std::string> names;
  for (const record::RunFolder& run : record::runs_below(record::kRunsFolder)) {
    const std::string name = run.path.filename().string();
    if (!name.starts_with('-') && cli::printable(name) == name &&
        path_of_run(name) == run.path.string()) {
      names.push_back(name);
    }
  }
  if (!names.empty()) {
    names.insert(names.begin(), std::string(kLatestRun));
  }
  return names;
}

Result<std::string> choose_run(const cli::Context& context, std::string_view command,
                               const std::string& given) {
  const std::string path = path_of_run(given);
  std::error_code failed;
  if (!path.empty() && (path != kLatestRun || fs::exists(path, failed))) {
    const auto records = record::record_files(path);
    const auto runs =
        records && records->empty() ? record::runs_below(path) : std::vector<record::RunFolder>();
    return runs.empty()       ? Result<std::string>(path)
           : runs.size() == 1 ? Result<std::string>(runs.front().path.string())
                              : several_runs(path, runs);
  }
  const auto runs = record::runs_below(record::kRunsFolder);
  if (runs.empty()) {
    return no_run_here();
  }
  if (!context.quiet) {
    fmt::print(context.err, "chokepoint: {}: {}, the newest run here\n", command,
               cli::printable(runs.front().path.string()));
  }
  return runs.front().path.string();
}

Result<record::Run> open_records(const std::string& folder) {
  Result<record::Run> records = record::open_run(folder);
  if (!records) {
    return fail(without_operation(records.error()));
  }
  if (records->nodes.empty() && records->unreadable.size() == 1) {
    Error error = without_operation(records->unreadable.front());
    std::error_code failed;
    if (fs::is_regular_file(folder, failed)) {
      error.next_step =
          "give a run's folder or .db file, captures of the job, or --with and another tool's "
          "files";
    }
    return fail(error);
  }
  return records;
}

Result<record::Run> records_of(const std::string& folder) {
  TRY(record::Run records, open_records(folder));
  if (records.nodes.empty()) {
    return fail(ErrorKind::Malformed, "", folder, "none of its records can be read",
                "'chokepoint record show' gives the reason for each");
  }
  return records;
}

void print_troubles(const cli::Context& context, std::string_view command,
                    const std::vector<Error>& troubles) {
  for (const Error& error : troubles) {
    fmt::print(context.err, "chokepoint: {}: {}\n", command, cli::printable(describe(error)));
  }
}

namespace {

// The results of tests of this run; where its verdict is unknown the tests that may show a cause.
void add_saved(const std::string& folder, const DiagnoseOptions& options, DiagnosedRun& diagnosed) {
  Result<confirm::SavedTests> saved = confirm::read_saved(folder);
  if (!saved) {
    diagnosed.troubles.push_back(without_operation(saved.error()));
    return;
  }
  Inquiry& inquiry = diagnosed.inquiry;
  Diagnosis& diagnosis = inquiry.diagnosis;
  const bool is_open = diagnosis.verdict.verdict == VerdictClass::Unknown &&
                       diagnosis.verdict.cause == Cause::None && diagnosed.run.nodes.size() > 1;
  std::vector<TestResult>& results = saved->results;
  if (results.empty() && !is_open) {
    return;
  }
  diagnosis.plan = confirm::plan_of(diagnosed.run, inquiry);
  if (!results.empty()) {
    const bool is_wan = confirm::is_wide_area(diagnosed.run, inquiry.clocks, options.wan_rtt_ms);
    confirm::apply(confirm::judge(diagnosis.verdict, diagnosis.plan, std::move(results), is_wan),
                   diagnosis);
  }
}

constexpr std::size_t kMaxGivenFiles = 4096;

// A folder's files by name, so that the same folder gives the same result.
Result<std::vector<std::string>> files_in(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code failed;
  for (fs::directory_iterator at(folder, failed);
       !failed && at != fs::directory_iterator() && files.size() < kMaxGivenFiles;
       at.increment(failed)) {
    std::error_code none;
    if (at->is_regular_file(none)) {
      files.push_back(at->path().string());
    }
  }
  if (failed) {
    return fail(from_errno(failed.value(), "", folder));
  }
  std::ranges::sort(files);
  return files;
}

// Files of a folder that are of no known kind are reported, not fatal: a job's folder holds others,
// too.
Result<std::vector<ToolFile>> read_given(const GivenFiles& given, std::vector<Error>& troubles) {
  std::vector<ToolFile> files;
  for (const std::string& file : given.ceilings) {
    TRY(const std::string text, read_document(file, kMaxGivenBytes));
    TRY(GivenProbe probe, given_probe(text, file));
    files.push_back({.tool = Tool::Chokepoint, .file = file, .ceilings = {std::move(probe)}});
  }
  std::vector<std::string> paths;
  std::vector<bool> is_named;
  for (const std::string& path : given.with) {
    std::error_code failed;
    const bool is_folder = fs::is_directory(path, failed);
    TRY(const std::vector<std::string> names,
        is_folder ? files_in(path) : Result<std::vector<std::string>>({path}));
    paths.insert(paths.end(), names.begin(), names.end());
    is_named.resize(paths.size(), !is_folder);
  }
  std::vector<Result<ToolFile>> read = read_tool_files(paths);
  for (std::size_t at = 0; at < read.size(); ++at) {
    if (read[at]) {
      files.push_back(*std::move(read[at]));
    } else if (is_named[at]) {
      return std::unexpected(read[at].error());
    } else {
      troubles.push_back(read[at].error());
    }
  }
  return files;
}

std::string without_digits(std::string_view text) {
  std::string rest;
  std::ranges::copy_if(text, std::back_inserter(rest), [](char c) { return c < '0' || c > '9'; });
  return rest;
}

// A line for all that have the same reason, with how many these are.
std::vector<Error> merged(const std::vector<Error>& errors) {
  std::vector<Error> lines;
  std::vector<std::string> reasons;
  std::vector<std::size_t> counts;
  for (const Error& error : errors) {
    const std::string reason = without_digits(error.reason);
    const auto known = std::ranges::find(reasons, reason);
    if (known != reasons.end()) {
      ++counts[static_cast<std::size_t>(known - reasons.begin())];
    } else {
      reasons.push_back(reason);
      counts.push_back(1);
      lines.push_back(error);
    }
  }
  for (std::size_t at = 0; at < lines.size(); ++at) {
    if (counts[at] > 1) {
      lines[at].subject = fmt::format("{} files, {} and others", counts[at], lines[at].subject);
    }
  }
  return lines;
}

// What a record would have shown, where there is none.
void add_missing_record(Diagnosis& diagnosis) {
  const std::string steps = diagnosis.accounting ? "" : "its steps and the time lost, and ";
  diagnosis.missing.insert(
      diagnosis.missing.begin(),
      fmt::format("no record of the run: 'chokepoint run' would have shown {}what hosts, processes "
                  "and paths did meanwhile",
                  steps));
}

}  // namespace

Result<DiagnosedRun> diagnose_folder(const std::string& folder, const DiagnoseOptions& options,
                                     const GivenFiles& given) {
  TRY(DiagnosedRun diagnosed, diagnose_unconfirmed(folder, options, given));
  add_saved(folder, options, diagnosed);
  return diagnosed;
}

Result<DiagnosedRun> diagnose_unconfirmed(const std::string& folder, const DiagnoseOptions& options,
                                          const GivenFiles& given) {
  std::vector<Error> troubles;
  TRY(std::vector<ToolFile> files, read_given(given, troubles));
  TRY(record::Run records, records_of(folder));
  DiagnosedRun run =
      diagnose_records(std::move(records), name_of_folder(folder), options, std::move(files));
  std::ranges::move(merged(troubles), std::back_inserter(run.troubles));
  return run;
}

Result<DiagnosedRun> diagnose_files(const DiagnoseOptions& options, const GivenFiles& given) {
  std::vector<Error> troubles;
  TRY(std::vector<ToolFile> files, read_given(given, troubles));
  if (files.empty()) {
    return fail(ErrorKind::Malformed, "", fmt::format("{}", fmt::join(given.with, ", ")),
                "holds no file that is read here",
                troubles.empty() ? "" : troubles.front().next_step);
  }
  DiagnosedRun run =
      diagnose_records({}, name_of_folder(given.with.front()), options, std::move(files));
  add_missing_record(run.inquiry.diagnosis);
  std::ranges::move(merged(troubles), std::back_inserter(run.troubles));
  return run;
}

DiagnosedRun diagnose_records(record::Run records, const std::string& name,
                              const DiagnoseOptions& options, std::vector<ToolFile> given) {
  DiagnosedRun result{.records = std::move(records)};
  result.run = load_run(result.records);
  std::vector<Error> unused;
  given = of_run(result.run, std::move(given), unused);
  keep_newest_incident(given, unused);
  add_ceilings(result.run, given, unused);
  result.inquiry = inquire(result.run, options);
  const std::vector<Claim> claims = claims_of(given);
  hold_against(claims, result.run, options, result.inquiry);
  if (result.run.nodes.empty()) {
    judge_traces(given, result.run, options, result.inquiry);
    add_printed_steps(given, claims, result.inquiry.diagnosis);
  }
  result.troubles = troubles_of(result.run);
  std::ranges::move(merged(unused), std::back_inserter(result.troubles));
  Diagnosis& diagnosis = result.inquiry.diagnosis;
  diagnosis.run = name;
  std::ranges::move(jobs_left_out(result.records), std::back_inserter(diagnosis.missing));
  const bool is_record = !result.run.nodes.empty();
  replace_dir(diagnosis.verdict, name, is_record);
  for (Verdict& other : diagnosis.others) {
    replace_dir(other, name, is_record);
  }
  return result;
}

void define_judging(cli::Flags& flags, DiagnoseOptions& options) {
  flags.group("How to judge")
      .option("wan-rtt-ms", &options.wan_rtt_ms, "MS",
              "a path with at least this unloaded round trip is wide-area");
}

void define_given(cli::Flags& flags, GivenFiles& files) {
  flags
      .option("ceiling", &files.ceilings, "FILE",
              "what a probe or an RDMA test of these hosts printed with --json: a limit with which "
              "the job is compared, like those in its record")
      .option("with", &files.with, "FILE",
              "what another tool wrote of the same job, or a folder of such files: dumps of "
              "PyTorch's Flight Recorder, traces of its profiler, NCCL Inspector's and RAS's "
              "output, sacct's, nccl-tests' and perftest's, the job's own log; without DIR the "
              "verdict comes from these files alone");
}

Result<> check_judging(const DiagnoseOptions& options) {
  if (!(options.wan_rtt_ms > 0)) {
    return fail(ErrorKind::Usage, "", "--wan-rtt-ms", "not a time", "give more than 0");
  }
  return {};
}

Result<> check_no_record(const fs::path& file) {
  if (file.extension() == ".db") {
    return fail(ErrorKind::Usage, "", file.string(), "is the name of a run's record",
                "give another with -o");
  }
  return {};
}

namespace {

using Open = Result<std::unique_ptr<cli::Output>>(const fs::path&);

Result<> write_by(Open* open, const std::string& file, const std::string& content) {
  TRY(check_no_record(file));
  std::error_code error;
  if (fs::is_directory(fs::path(file), error)) {
    return fail(ErrorKind::Usage, "", file, "is a folder", "give the name of a file");
  }
  TRY(const std::unique_ptr<cli::Output> output, open(file));
  output->write(content);
  return output->finish();
}

}  // namespace

Result<> write_file(const std::string& file, const std::string& content) {
  return write_by(&cli::open_file, file, content);
}

Result<> write_own_file(const std::string& file, const std::string& content) {
  return write_by(&cli::open_own_file, file, content);
}

Result<std::string> read_document(const std::string& file, std::size_t most_bytes) {
  return sys::read_input(file, most_bytes, "");
}

}  // namespace chokepoint::analysis
