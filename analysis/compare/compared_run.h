// One run as a comparison needs it: its figures and where each came from, its accounts and verdict,
// and its steps for the tests of noise. What its records do not tell is empty. Values.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/attribution/diagnosis.h"
#include "analysis/compare/figure.h"

namespace chokepoint::analysis {

struct Told {
  double value = 0;
  std::string from = {};  // how it came about, for people
};

struct ComparedRun {
  std::string path = {};    // its own folder
  std::string folder = {};  // what the command line said
  std::string command = {};
  std::map<std::string, std::string> labels = {};
  std::vector<std::string> nodes = {};
  bool is_complete = false;
  std::optional<std::int64_t> exit_status = {};
  std::optional<std::int64_t> gpus = {};  // or whatever its ranks compute on
  StepTimes steps = {};
  std::array<std::optional<Told>, kFigures> figures = {};  // all but the scaling factor
  std::vector<double> step_ms = {};                        // settled steps in order, of one rank
  std::optional<Accounting> accounting = {};
  Verdict verdict = {};
  std::string sentence = {};  // the verdict's
  std::vector<std::string> remarks = {};

  const std::optional<Told>& operator[](Figure figure) const { return figures[place_of(figure)]; }
};

}  // namespace chokepoint::analysis
