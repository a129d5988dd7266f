// Where a comparison's runs come from: which folders, records and files its arguments stand for,
// and what each of them holds.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

#include <nlohmann/json.hpp>

#include "analysis/commands/compare.h"
#include "analysis/commands/run_files.h"
#include "analysis/commands/run_history.h"
#include "analysis/compare/compared_run.h"
#include "analysis/compare/keys.h"
#include "analysis/compare/probe_runs.h"
#include "base/json/codec.h"

namespace chokepoint::analysis {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxDepth = 8;  // of folders below an argument

std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    entries.push_back(entry->path());
  }
  std::ranges::sort(entries, [](const fs::path& one, const fs::path& other) {
    return natural_order(one.native(), other.native()) < 0;
  });
  return entries;
}

// Links are not followed: a folder may hold one to itself.
bool is_folder(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(fs::symlink_status(path, error));
}

struct FoundBelow {
  std::vector<std::string> runs = {};
  std::vector<std::string> documents = {};  // that may be probes'
};

// A folder with records is a run, and what else lies in it is none of the comparison's.
void find_below(const fs::path& folder, int depth, FoundBelow& found) {
  const std::vector<fs::path> entries = entries_of(folder);
  const auto has_ending = [](const char* ending) {
    return [ending](const fs::path& entry) { return entry.extension() == ending; };
  };
  if (std::ranges::any_of(entries, has_ending(".db"))) {
    found.runs.push_back(folder.string());
    return;
  }
  for (const fs::path& entry : entries) {
    if (is_folder(entry)) {
      if (depth < kMaxDepth) {
        find_below(entry, depth + 1, found);
      }
    } else if (has_ending(".json")(entry)) {
      found.documents.push_back(entry.string());
    }
  }
}

std::string identity_of(const std::string& path) {
  std::error_code error;
  const fs::path whole = fs::canonical(path, error);
  return error ? path : whole.string();
}

// A file that is no record; also one that is not there, so that reading it gives the reason.
bool is_document(const std::string& name) {
  std::error_code error;
  const fs::path ending = fs::path(name).extension();
  return fs::exists(name, error) ? fs::is_regular_file(name, error) && ending != ".db"
                                 : ending == ".json";
}

// What was not named itself counts only where it is a probe's.
bool is_probes(const std::string& file) {
  const Result<std::string> text = read_document(file, kMaxDocumentBytes);
  const Result<std::vector<ComparedRun>> runs =
      text ? runs_of_document(*text, file) : std::unexpected(text.error());
  return runs.has_value();
}

bool holds_a_job(const record::Reader& node) {
  return std::ranges::any_of(
      node.sessions(), [](const record::Session& session) { return !session.command.empty(); });
}

bool holds_a_probe(record::Reader& node) {
  const auto probes = node.all<record::Probe>();
  return probes && std::ranges::any_of(*probes, [](const record::Probe& probe) {
           return is_comparable(probe.schema);
         });
}

// Records that hold what probes measured, and no job.
bool are_of_probes_alone(const std::vector<RunFolder>& folders) {
  return std::ranges::all_of(folders, [](const RunFolder& folder) {
    Result<record::Run> run = record::open_run(folder.path);
    return run && std::ranges::none_of(run->nodes, holds_a_job) &&
           std::ranges::any_of(run->nodes, holds_a_probe);
  });
}

// Adds places that were not there yet: what is given twice counts once.
class Places {
 public:
  void add(const std::vector<std::string>& paths, const std::string& argument) {
    for (const std::string& path : paths) {
      if (known_.insert(identity_of(path)).second) {
        places_.push_back({.path = path, .folder = argument});
      }
    }
  }
  const std::vector<RunFolder>& get() const { return places_; }

 private:
  std::set<std::string> known_;
  std::vector<RunFolder> places_;
};

// The probe records of one host.
Result<> add_recorded(record::Reader& node, const std::string& name,
                      std::vector<ComparedRun>& runs) {
  TRY(const std::vector<record::Probe> probes, node.all<record::Probe>());
  TRY(const std::vector<record::Fact> facts, node.all<record::Fact>());
  for (const record::Probe& probe : probes) {
    if (!is_comparable(probe.schema)) {
      continue;  // doctor's, and what a later version may keep
    }
    TRY(std::vector<ComparedRun> read, runs_of_document(probe.document, name));
    for (ComparedRun& run : read) {
      if (run.hosts.empty()) {  // of a version whose documents had no facts
        run.hosts.push_back({.host = node.node(),
                             .settings = std::make_shared<const host::Settings>(
                                 settings_of(facts, probe.session))});
      }
      runs.push_back(std::move(run));
    }
  }
  return {};
}

Result<std::vector<ComparedRun>> recorded_probes(const RunFolder& place) {
  TRY(record::Run records, records_of(place.path));
  std::vector<ComparedRun> runs;
  for (record::Reader& node : records.nodes) {
    TRY(add_recorded(node, place.path, runs));
  }
  if (runs.empty()) {
    return fail(ErrorKind::NotFound, "", place.path, "holds no probe that can be compared",
                "'chokepoint record show' shows what it holds");
  }
  return runs;
}

}  // namespace

Result<ComparedPlaces> compared_places(const std::vector<std::string>& arguments) {
  Places runs;
  Places documents;
  Places found_documents;
  for (const std::string& argument : arguments) {
    const std::string name = name_of_folder(argument);
    if (is_document(name)) {
      documents.add({name}, name);
      continue;
    }
    FoundBelow found;
    find_below(name, 0, found);
    // A place without runs is kept, too, so that reading it gives the reason.
    runs.add(found.runs.empty() && found.documents.empty() ? std::vector{name} : found.runs, name);
    std::erase_if(found.documents, [](const std::string& file) { return !is_probes(file); });
    found_documents.add(found.documents, name);
  }
  const bool are_recorded = !runs.get().empty() && are_of_probes_alone(runs.get());
  if (!documents.get().empty() && !runs.get().empty() && !are_recorded) {
    return fail(ErrorKind::Usage, "", documents.get().front().path,
                fmt::format("is a probe's document, and {} is a run", runs.get().front().path),
                "compare runs with runs, and probes with probes");
  }
  if (!runs.get().empty() && !are_recorded) {
    return ComparedPlaces{.places = runs.get()};
  }
  ComparedPlaces sources{.places = documents.get(), .are_probes = true};
  for (const auto& more : {found_documents.get(), runs.get()}) {
    sources.places.insert(sources.places.end(), more.begin(), more.end());
  }
  return sources;
}

Result<std::vector<ComparedRun>> read_probes(const RunFolder& place) {
  if (!is_document(place.path)) {
    auto runs = recorded_probes(place);
    for (std::size_t at = 0; runs && at < runs->size(); ++at) {
      (*runs)[at].folder = place.folder;
    }
    return runs;
  }
  TRY(const std::string text, read_document(place.path, kMaxDocumentBytes));
  TRY(std::vector<ComparedRun> runs, runs_of_document(text, place.path));
  for (ComparedRun& run : runs) {
    run.folder = place.folder;
  }
  return runs;
}

Result<ComparedRun> read_run(const RunFolder& folder, const RunReading& reading,
                             const cli::Context& context) {
  TRY(DiagnosedRun diagnosed, diagnose_folder(folder.path, reading.judging));
  compare_with_earlier(reading.history, context, diagnosed, folder.path);
  ComparedRun run = figures_of({.summary = summarize(diagnosed.records),
                                .data = diagnosed.run,
                                .diagnosis = diagnosed.inquiry.diagnosis},
                               reading.samples_label);
  const auto& standing = diagnosed.inquiry.diagnosis.standing;
  if (standing && standing->is_unusual) {
    run.remarks.push_back("unusual time of a step: " + standing->sentence);
  }
  run.path = folder.path;
  run.folder = folder.folder;
  return run;
}

}  // namespace chokepoint::analysis
