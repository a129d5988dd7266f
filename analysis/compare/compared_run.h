// One run as a comparison needs it, and how its figures are taken from its records.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/attribution/diagnosis.h"
#include "analysis/load/run_data.h"
#include "analysis/load/run_summary.h"
#include "base/documents/main_figures.h"
#include "base/host/settings.h"

namespace chokepoint::analysis {

// One run as a comparison needs it: its figures and where each came from, its accounts and verdict,
// and its steps for the tests of noise. A probe's document is such a run, too: without steps and
// verdict, with the figures that its kind of document declares (base/documents/main_figures.h).
// What is not known is empty. Values; pure functions; any thread.

// The figures by which runs are compared; compared_run.cc has the table of their names, units and
// which way is better. Behind these follow those of probes' documents, one for each key of their
// table; runs have retransmits and rtt_ms of these, too.
enum class Figure {
  SamplesPerS,
  ScalingFactor,
  NetworkMbps,
  VolumeBytes,
  StepMs,
  MedianStepMs,
  P99StepMs,
  DurationS,
  EpochS,
  LostMs,
  InputMs,
  StorageMs,
  GpuMemoryBytes,
  ComputeMs,
  ExposedMs,
  EnergyJ,
};
constexpr std::size_t kRunFigures = 16;

constexpr bool is_first_of_its_key(std::size_t place) {
  for (std::size_t before = 0; before < place; ++before) {
    if (std::string_view(documents::kMainFigures[before].key) ==
        documents::kMainFigures[place].key) {
      return false;
    }
  }
  return true;
}

constexpr std::size_t count_keys() {
  std::size_t count = 0;
  for (std::size_t place = 0; place < documents::kMainFigures.size(); ++place) {
    count += is_first_of_its_key(place) ? 1 : 0;
  }
  return count;
}

constexpr std::size_t kFigures = kRunFigures + count_keys();

enum class Unit { PerSecond, Factor, Mbps, Bytes, Memory, Milliseconds, Seconds, Plain };
using documents::Better;

struct FigureTraits {
  const char* key;          // as options and documents name it
  const char* title;        // of a column
  const char* short_title;  // on a terminal, before the unit; empty: the unit says it
  Unit unit;
  Better better;
  const char* plain = "";  // what a Plain one is counted in: "%"
};

const FigureTraits& traits_of(Figure figure);
std::optional<Figure> figure_of(std::string_view key);
constexpr std::size_t place_of(Figure figure) { return static_cast<std::size_t>(figure); }
constexpr Figure figure_at(std::size_t place) { return static_cast<Figure>(place); }
constexpr bool is_of_runs(Figure figure) { return place_of(figure) < kRunFigures; }

struct SourcedValue {
  double value = 0;
  std::string from = {};  // where it came from, for people
};

// How a host was set up; never null. Shared, because a document's thousands of trials have the
// same.
struct HostSettings {
  std::string host = {};
  std::shared_ptr<const host::Settings> settings = std::make_shared<const host::Settings>();
};

struct ComparedRun {
  bool is_probe = false;    // a document, and not a run
  std::string path = {};    // its own folder or file
  std::string folder = {};  // what the command line said
  std::string command = {};
  std::string date = {};  // on which it began, in UTC: 2026-11-29
  std::map<std::string, std::string> labels = {};
  std::vector<std::string> nodes = {};
  bool is_complete = false;
  std::optional<std::int64_t> exit_status = {};
  std::optional<std::int64_t> gpus = {};  // or other processors that its ranks compute on
  StepTimes steps = {};
  std::array<std::optional<SourcedValue>, kFigures> figures = {};  // all but the scaling factor
  std::vector<double> step_ms = {};  // settled steps in order, of one rank
  std::optional<Accounting> accounting = {};
  Verdict verdict = {};
  std::string sentence = {};  // the verdict's
  std::vector<HostSettings> hosts = {};
  // Those of some documents have the same facts, those of others not: which differ, and their
  // values; see tell_apart_by_facts().
  std::string facts = {};
  std::vector<std::string> remarks = {};

  const std::optional<SourcedValue>& operator[](Figure figure) const {
    return figures[place_of(figure)];
  }
};

// One run's figures, from its records and its diagnosis. Pure; any thread.

// All three of the same run.
struct RunParts {
  const RunSummary& summary;
  const RunData& data;
  const Diagnosis& diagnosis;
};

// Path and folder are the caller's to fill in.
ComparedRun figures_of(const RunParts& parts, const std::string& samples_label);

}  // namespace chokepoint::analysis
