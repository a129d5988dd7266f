// One run as a comparison needs it: its figures and where each came from, its accounts and verdict,
// and its steps for the tests of noise. What its records do not have is empty. Values; pure
// functions; any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/attribution/diagnosis.h"

namespace chokepoint::analysis {

// The figures by which runs are compared; compared_run.cc has the table of their names, units and
// which way is better.
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
};
constexpr std::size_t kFigures = 13;

enum class Unit { PerSecond, Factor, Mbps, Bytes, Memory, Milliseconds, Seconds };
enum class Better { More, Less, Neither };

struct FigureTraits {
  const char* key;          // as options and documents name it
  const char* title;        // of a column
  const char* short_title;  // on a terminal, before the unit; empty: the unit says it
  Unit unit;
  Better better;
};

const FigureTraits& traits_of(Figure figure);
std::optional<Figure> figure_of(std::string_view key);
constexpr std::size_t place_of(Figure figure) { return static_cast<std::size_t>(figure); }
constexpr Figure figure_at(std::size_t place) { return static_cast<Figure>(place); }

struct SourcedValue {
  double value = 0;
  std::string from = {};  // where it came from, for people
};

struct ComparedRun {
  std::string path = {};    // its own folder
  std::string folder = {};  // what the command line said
  std::string command = {};
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
  std::vector<std::string> remarks = {};

  const std::optional<SourcedValue>& operator[](Figure figure) const {
    return figures[place_of(figure)];
  }
};

}  // namespace chokepoint::analysis
