#include "analysis/history/run_rows.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <sstream>

#include "analysis/compare/host_facts.h"
#include "base/history/job.h"
#include "base/math/statistics.h"

namespace chokepoint::analysis {
namespace {

constexpr std::size_t kMaxCommandBytes = 120;

// "/usr/bin/python3" is python3 on a host that has it elsewhere.
std::string without_folders(const std::string& word) {
  const std::size_t start = word.find('=') == std::string::npos ? 0 : word.find('=') + 1;
  const std::size_t slash = word.rfind('/');
  return slash == std::string::npos || slash < start || slash + 1 == word.size()
             ? word
             : word.substr(0, start) + word.substr(slash + 1);
}

// A number of a job, a date or a port is another one each time; a batch size has fewer digits.
std::string without_long_numbers(const std::string& word) {
  constexpr std::size_t kDigitsOfChance = 5;
  std::string kept;
  for (std::size_t at = 0; at < word.size();) {
    std::size_t end = at;
    while (end < word.size() && std::isdigit(static_cast<unsigned char>(word[end])) != 0) {
      ++end;
    }
    const bool is_chance = end - at >= kDigitsOfChance;
    kept += is_chance ? "#" : word.substr(at, std::max<std::size_t>(end - at, 1));
    at = std::max(end, at + 1);
  }
  return kept;
}

std::string command_of(const Diagnosis& diagnosis) {
  std::istringstream words(diagnosis.command);
  std::vector<std::string> kept;
  for (std::string word; words >> word;) {
    kept.push_back(without_long_numbers(without_folders(word)));
  }
  return fmt::format("{}", fmt::join(kept, " ")).substr(0, kMaxCommandBytes);
}

std::string labels_of(const Diagnosis& diagnosis) {
  std::vector<std::string> words;
  for (const auto& [key, value] : diagnosis.labels) {
    words.push_back(key + "=" + value);
  }
  return fmt::format("{}", fmt::join(words, " "));
}

// As its processes say; what was seen of them may differ from run to run.
std::int64_t ranks_of(const RunData& run, const Diagnosis& diagnosis) {
  std::int64_t ranks = 0;
  for (const NodeData& node : run.nodes) {
    for (const record::Process& process : node.processes) {
      ranks = std::max(ranks, process.world_size.value_or(0));
    }
  }
  return ranks > 0 ? ranks : static_cast<std::int64_t>(diagnosis.ranks.size());
}

class RunRows {
 public:
  explicit RunRows(const RunToRemember& remembered)
      : remembered_(remembered),
        diagnosis_(remembered.diagnosis),
        job_{.kind = history::SubjectKind::Job, .name = job_name_of(remembered.run, diagnosis_)},
        labels_(labels_of(diagnosis_)) {}

  history::Batch all() {
    if (diagnosis_.steps.settled > 0 && has_first_rank()) {
      add_job();
    }
    add_hosts();
    add_states();
    return std::move(batch_);
  }

 private:
  bool has_first_rank() const {
    return diagnosis_.ranks.empty() ||
           std::ranges::any_of(diagnosis_.ranks,
                               [](const RankFigures& rank) { return rank.rank == 0; });
  }

  void add(const history::Subject& subject, const std::string& setting, const char* metric,
           std::optional<double> ms, std::int64_t count) {
    if (ms) {
      batch_.rows.push_back({.series = {.subject = subject,
                                        .metric = metric,
                                        .setting = setting,
                                        .unit = "ms",
                                        .better = documents::Better::Less},
                             .measured = {.wall_ns = remembered_.began_wall_ns,
                                          .value = *ms,
                                          .count = count,
                                          .source = remembered_.folder,
                                          .program = remembered_.program}});
    }
  }

  void add_job() {
    const std::int64_t count = diagnosis_.steps.settled;
    add(job_, labels_, "step_ms", diagnosis_.steps.mean_ms, count);
    add(job_, labels_, "p99_step_ms", diagnosis_.steps.p99_ms, count);
    if (diagnosis_.accounting && diagnosis_.verdict.verdict != VerdictClass::Compute) {
      add(job_, labels_, "lost_ms", diagnosis_.verdict.lost_ms_per_step, count);
    }
  }

  void add_hosts() {
    std::map<std::string, std::vector<double>> computing;
    for (const RankFigures& rank : diagnosis_.ranks) {
      computing[rank.node].push_back(rank.computing_ms);
    }
    for (const auto& [host, each] : computing) {
      add({.kind = history::SubjectKind::Host, .host = host}, history::setting_of_job(job_.name),
          "computing_ms", math::mean(each), diagnosis_.steps.settled);
    }
  }

  void add_states() {
    for (const NodeData& node : remembered_.run.nodes) {
      batch_.hosts.push_back({.host = node.name,
                              .wall_ns = remembered_.began_wall_ns,
                              .settings = settings_of(node.facts)});
    }
  }

  const RunToRemember& remembered_;
  const Diagnosis& diagnosis_;
  history::Subject job_;
  std::string labels_;
  history::Batch batch_;
};

}  // namespace

std::string job_name_of(const RunData& run, const Diagnosis& diagnosis) {
  const std::int64_t count = ranks_of(run, diagnosis);
  const std::string ranks = count == 0 ? "" : fmt::format("{} ranks, ", count);
  return fmt::format("{} ({}{} hosts)", command_of(diagnosis), ranks, diagnosis.nodes.size());
}

history::Batch rows_of(const RunToRemember& remembered) { return RunRows(remembered).all(); }

}  // namespace chokepoint::analysis
