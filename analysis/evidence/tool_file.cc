#include "analysis/evidence/tool_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "analysis/evidence/benchmarks.h"
#include "analysis/evidence/flight_recorder.h"
#include "analysis/evidence/job_log.h"
#include "analysis/evidence/nccl.h"
#include "analysis/evidence/profiler.h"
#include "analysis/evidence/slurm.h"
#include "analysis/evidence/source.h"

namespace chokepoint::analysis {
namespace {

constexpr std::size_t kHeadBytes = std::size_t{64} << 10;
constexpr std::size_t kMaxDumpBytes = std::size_t{256} << 20;
constexpr std::size_t kMaxTextFileBytes = std::size_t{64} << 20;

bool has(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

bool has_any(std::string_view text, std::initializer_list<std::string_view> parts) {
  return std::ranges::any_of(parts, [&](std::string_view part) { return has(text, part); });
}

// What only the head of such a document has. A trace comes first, since it may hold any text.
std::optional<Tool> tool_of_json(std::string_view head) {
  if (has_any(head, {"\"traceEvents\"", "\"distributedInfo\"", "\"deviceProperties\""}) ||
      (head.starts_with('[') && has(head, "\"ph\""))) {
    return Tool::Profiler;
  }
  if (has_any(head, {"\"coll_perf\"", "\"p2p_perf\""})) {
    return Tool::Inspector;
  }
  if (has_any(head, {"\"pg_config\"", "\"collective_seq_id\"", "\"profiling_name\""})) {
    return Tool::FlightRecorder;
  }
  if (has(head, "\"communicators\"") && has(head, "\"nccl_version\"")) {
    return Tool::Ras;
  }
  if (has(head, "\"chokepoint.")) {
    return Tool::Chokepoint;
  }
  return has(head, "\"jobs\"") ? std::optional(Tool::Slurm) : std::nullopt;
}

std::optional<Tool> tool_of(std::string_view head) {
  constexpr char kPickle = '\x80';
  if (head.starts_with(kPickle)) {
    return Tool::FlightRecorder;
  }
  head.remove_prefix(std::min(head.find_first_not_of(" \t\r\n"), head.size()));
  const bool may_be_tag = head.starts_with('[');  // "[1,0]<stdout>:", "[rank0]:"
  if (head.starts_with('{') || may_be_tag) {
    const auto tool = tool_of_json(head);
    if (tool || !may_be_tag) {
      return tool;
    }
  }
  if (has(head, "algbw") && has(head, "busbw")) {
    return Tool::NcclTests;
  }
  if (has(head, "#bytes") && has(head, "#iterations")) {
    return Tool::Perftest;
  }
  if (has(head, "Communicators...")) {
    return Tool::Ras;
  }
  if (has(head, "# nThread")) {  // with NCCL's log before the table
    return Tool::NcclTests;
  }
  const std::string_view first = head.substr(0, head.find('\n'));
  return has(first, "JobID") && has(first, "|") ? std::optional(Tool::Slurm) : std::nullopt;
}

std::unexpected<Error> unknown(const std::string& file) {
  return fail(ErrorKind::Malformed, "", file, "is of no kind that is read here",
              "give dumps of PyTorch's Flight Recorder, traces of its profiler, files of NCCL "
              "Inspector or RAS, output of sacct -P, sacct --json, nccl-tests or perftest, a "
              "job's log with a failure or with steps and their time, or a document of a "
              "probe");
}

Result<ToolFile> read_whole(Tool tool, ByteSource& source, const std::string& file) {
  const bool is_dump = tool == Tool::FlightRecorder;
  TRY(const std::string text, all_of(source, is_dump ? kMaxDumpBytes : kMaxTextFileBytes, file));
  switch (tool) {
    case Tool::FlightRecorder:
      return read_flight_recorder(text, file);
    case Tool::Ras:
      return read_ras(text, file);
    case Tool::Slurm:
      return read_slurm(text, file);
    case Tool::NcclTests: {
      TRY(ToolFile tests, read_nccl_tests(text, file));
      // NCCL's own log may stand in it.
      if (Result<ToolFile> log = read_job_log(*bytes_of(text), file)) {
        tests.nccl = std::move(log->nccl);
      }
      return tests;
    }
    case Tool::Perftest:
      return read_perftest(text, file);
    default: {
      TRY(GivenProbe probe, given_probe(text, file));
      return ToolFile{.tool = Tool::Chokepoint, .file = file, .ceilings = {std::move(probe)}};
    }
  }
}

// A job's log has no form of its own: it is text, some lines of which tell of a failure.
Result<ToolFile> read_text(Peeked& source, const std::string& file) {
  const bool is_text = !source.head().contains('\0');
  Result<ToolFile> log = is_text ? read_job_log(source, file) : unknown(file);
  if (log) {
    return log;
  }
  return source.flaw().empty() ? unknown(file) : malformed(file, source.flaw());
}

Result<ToolFile> read_from(ByteSource& below, const std::string& file) {
  Peeked source(below, kHeadBytes);
  const auto tool = tool_of(source.head());
  if (!tool) {
    return read_text(source, file);
  }
  switch (*tool) {
    case Tool::Profiler:
      return read_profiler(source, file);
    case Tool::Inspector:
      return read_inspector(source, file);
    default:
      return read_whole(*tool, source, file);
  }
}

}  // namespace

Result<ToolFile> read_tool_file(const std::string& path) {
  TRY(const std::unique_ptr<ByteSource> source, open_bytes(path));
  TRY(ToolFile file, read_from(*source, path));
  // Benchmarks do not print when they ran.
  std::error_code failed;
  const auto written = std::filesystem::last_write_time(path, failed);
  for (GivenProbe& ceiling : file.ceilings) {
    if (ceiling.wall_ns == 0 && !failed) {
      ceiling.wall_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(
                            std::chrono::file_clock::to_sys(written).time_since_epoch())
                            .count();
    }
  }
  return file;
}

Result<ToolFile> read_tool_file(std::string_view bytes, const std::string& name) {
  return read_from(*bytes_of(bytes), name);
}

}  // namespace chokepoint::analysis
