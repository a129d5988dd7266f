#include "analysis/evidence/slurm.h"

#include <fmt/format.h>

#include <algorithm>

#include <nlohmann/json.hpp>

#include "analysis/evidence/source.h"
#include "base/sys/number.h"

namespace chokepoint::analysis {
namespace {

using json::Json;

constexpr std::size_t kMaxJobs = 65'536;  // with their steps
constexpr std::int64_t kNsPerSecond = 1'000'000'000;
constexpr std::int64_t kLastSecond = 4'102'444'800;  // the year 2100

std::int64_t ns_of_seconds(std::int64_t seconds) {
  return seconds > 0 && seconds < kLastSecond ? seconds * kNsPerSecond : 0;
}

// "OUT_OF_MEMORY", ["FAILED"], {"current": …}: by the version of Slurm.
std::string state_in(const Json& state) {
  if (state.is_string()) {
    return state.get<std::string>();
  }
  if (state.is_array()) {
    return state.empty() || !state[0].is_string() ? "" : state[0].get<std::string>();
  }
  return state.is_object() ? state_in(member(state, "current")) : "";
}

// 3, or {"set": true, "infinite": false, "number": 3}.
std::optional<std::int64_t> slurm_number(const Json& value) {
  if (value.is_object()) {
    return member(value, "set") == Json(false) ? std::nullopt : whole_in(value, "number");
  }
  return whole_of(value);
}

// "100.batch", {"step_id": 0}; of Slurm 22.05 "batch" or 0.
std::string step_id_in(const Json& step, const std::string& job) {
  const Json& id = member(step, "id");
  std::string text = text_in(step, "id");
  if (text.contains('.')) {
    return text;
  }
  const auto number = id.is_object() ? slurm_number(member(id, "step_id")) : slurm_number(id);
  return fmt::format("{}.{}", job, text.empty() ? fmt::format("{}", number.value_or(0)) : text);
}

// sacct of Slurm 22.05 has every job and step return 0 in its JSON, whatever they did.
bool has_plausible_exit(const SlurmJob& job) {
  return job.state != "FAILED" || job.exit_code != 0 || job.signal.value_or(0) > 0;
}

class SacctJson {
 public:
  explicit SacctJson(ToolFile& evidence) : evidence_(evidence) {}

  void read(const Json& document) {
    for (const Json& job : list_in(document, "jobs")) {
      const auto id = whole_in(job, "job_id");
      const std::string name = id ? std::to_string(*id) : text_in(job, "job_id");
      keep(job, name, text_in(job, "name"), text_in(job, "nodes"));
      for (const Json& step : list_in(job, "steps")) {
        const Json& own = member(step, "step");
        keep(step, step_id_in(own, name), text_in(own, "name"),
             text_in(member(step, "nodes"), "range"));
      }
    }
  }

 private:
  void keep(const Json& from, const std::string& id, const std::string& name,
            const std::string& nodes) {
    if (evidence_.jobs.size() >= kMaxJobs || id.empty()) {
      return;
    }
    const Json& exit = member(from, "exit_code");
    const Json& signal = member(exit, "signal");
    const Json& time = member(from, "time");
    SlurmJob job{.id = id,
                 .name = name,
                 .state = state_in(member(from, "state")),
                 .reason = text_in(member(from, "state"), "reason"),
                 .exit_code = slurm_number(member(exit, "return_code")),
                 .signal = slurm_number(signal.is_object() && signal.contains("id")
                                            ? member(signal, "id")
                                            : member(signal, "signal_id")),
                 .nodes = nodes};
    if (!has_plausible_exit(job)) {
      job.exit_code = std::nullopt;
    }
    job.span.start_ns = ns_of_seconds(slurm_number(member(time, "start")).value_or(0));
    job.span.end_ns = ns_of_seconds(slurm_number(member(time, "end")).value_or(0));
    evidence_.jobs.push_back(std::move(job));
  }

  ToolFile& evidence_;
};

class SacctTable {
 public:
  explicit SacctTable(ToolFile& evidence) : evidence_(evidence) {}

  void read(std::string_view text) {
    each_line(text, [&](std::string_view line) {
      const auto cells = words_of(line, "|");
      if (columns_.empty()) {
        columns_.assign(cells.begin(), cells.end());
      } else if (cells.size() > 1 && evidence_.jobs.size() < kMaxJobs) {
        add(cells);
      }
    });
  }

 private:
  std::string cell(const std::vector<std::string_view>& cells, std::string_view column) const {
    const auto found = std::ranges::find(columns_, column);
    const auto place = static_cast<std::size_t>(found - columns_.begin());
    return place < cells.size() && found != columns_.end()
               ? std::string(cells[place].substr(0, kMaxFieldBytes))
               : "";
  }

  void add(const std::vector<std::string_view>& cells) {
    SlurmJob job{.id = cell(cells, "JobID"),
                 .name = cell(cells, "JobName"),
                 .state = cell(cells, "State"),
                 .reason = cell(cells, "Reason"),
                 .nodes = cell(cells, "NodeList")};
    // "CANCELLED by 1000"
    job.state = job.state.substr(0, job.state.find(' '));
    const std::string exit = cell(cells, "ExitCode");  // "1:0", with the signal
    const std::size_t colon = std::min(exit.find(':'), exit.size());
    job.exit_code = sys::parse_number<std::int64_t>(std::string_view(exit).substr(0, colon));
    job.signal = sys::parse_number<std::int64_t>(
        std::string_view(exit).substr(std::min(colon + 1, exit.size())));
    job.span.start_ns = wall_ns_of(cell(cells, "Start"));
    job.span.end_ns = wall_ns_of(cell(cells, "End"));
    if (!job.id.empty() && !job.state.empty()) {
      evidence_.jobs.push_back(std::move(job));
    }
  }

  ToolFile& evidence_;
  std::vector<std::string> columns_;
};

}  // namespace

Result<ToolFile> read_slurm(std::string_view text, const std::string& file) {
  ToolFile evidence{.tool = Tool::Slurm, .file = file};
  if (text.find_first_not_of(" \t\r\n") != text.npos &&
      text[text.find_first_not_of(" \t\r\n")] == '{') {
    TRY(const Json document, parsed_json(text, file));
    SacctJson(evidence).read(document);
  } else {
    SacctTable(evidence).read(text);
  }
  if (evidence.jobs.empty()) {
    return malformed(file, "is sacct's output without a job");
  }
  for (const SlurmJob& job : evidence.jobs) {
    if (job.span.start_ns > 0) {
      evidence.span.include(job.span.start_ns, std::max(job.span.start_ns, job.span.end_ns));
    }
  }
  return evidence;
}

}  // namespace chokepoint::analysis
