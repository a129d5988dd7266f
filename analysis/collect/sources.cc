#include "analysis/collect/sources.h"

#include <array>
#include <chrono>
#include <filesystem>
#include <string_view>
#include <utility>

#include "analysis/collect/sender.h"
#include "base/host/launcher.h"
#include "base/record/runs.h"

namespace chokepoint::analysis {

namespace {

constexpr std::chrono::seconds kMaxSlurmSilence{60};

// What scontrol or sacct print about a job: "KEY=VALUE KEY=VALUE", or a line with '|' between.
struct SlurmJob {
  std::string nodes = {};
  std::string folder = {};
};

Result<std::string> output_of(std::vector<std::string> command) {
  constexpr std::size_t kMaxOutputBytes = 256 << 10;
  const std::string name = command.front();
  TRY(Sender program, Sender::start(std::move(command), {.silence = kMaxSlurmSilence}));
  std::string text;
  std::array<char, 4096> bytes{};
  for (;;) {
    TRY(const std::size_t count, program.read(bytes));
    if (count == 0 || text.size() > kMaxOutputBytes) {
      break;
    }
    text.append(bytes.data(), count);
  }
  const std::string message = program.message();
  return text.empty() ? Result<std::string>(fail(ErrorKind::NotFound, name, "", message))
                      : Result<std::string>(text);
}

std::string word_after(std::string_view text, std::string_view key) {
  for (std::size_t at = text.find(key); at != std::string_view::npos; at = text.find(key, at + 1)) {
    if (at == 0 || text[at - 1] == ' ' || text[at - 1] == '\n') {
      const std::string_view rest = text.substr(at + key.size());
      return std::string(rest.substr(0, rest.find_first_of(" \n")));
    }
  }
  return {};
}

// A job that ended a while ago is known to sacct alone.
Result<SlurmJob> slurm_job(const std::string& id) {
  if (id.find_first_not_of("0123456789_.+") != std::string::npos) {
    return fail(ErrorKind::Usage, "", "--slurm " + id, "not a job's number");
  }
  if (const auto text = output_of({"scontrol", "show", "job", id})) {
    SlurmJob job{.nodes = word_after(*text, "NodeList="), .folder = word_after(*text, "WorkDir=")};
    if (!job.nodes.empty() && job.nodes != "(null)") {
      return job;
    }
  }
  const auto text = output_of({"sacct", "-X", "-n", "-P", "-j", id, "-o", "NodeList,WorkDir"});
  if (text && text->find('|') != std::string::npos) {
    const std::string line = text->substr(0, text->find('\n'));
    const std::size_t bar = line.find('|');
    return SlurmJob{.nodes = line.substr(0, bar), .folder = line.substr(bar + 1)};
  }
  return fail(ErrorKind::NotFound, "", "--slurm " + id,
              "neither scontrol nor sacct knows this job's nodes",
              "name them: chokepoint collect HOST:DIR");
}

}  // namespace

Result<std::vector<Source>> sources_of(const std::vector<std::string>& words) {
  std::vector<Source> sources;
  for (const std::string& word : words) {
    const std::size_t colon = word.find(':');
    if (colon == std::string::npos || word.find('/') < colon) {
      sources.push_back({.folder = word});
      continue;
    }
    TRY(const auto hosts, host::hosts_of(word.substr(0, colon)));
    for (const std::string& host : hosts) {
      sources.push_back({.host = host, .folder = word.substr(colon + 1)});
    }
  }
  return sources;
}

Result<std::vector<Source>> sources_of_slurm_job(const std::string& id) {
  TRY(const SlurmJob job, slurm_job(id));
  TRY(const auto hosts, host::hosts_of(job.nodes));
  std::vector<Source> sources;
  for (const std::string& host : hosts) {
    sources.push_back(
        {.host = host, .folder = std::filesystem::path(job.folder) / record::kRunsFolder / id});
  }
  return sources;
}

}  // namespace chokepoint::analysis
