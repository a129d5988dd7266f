// Many runs, or probes' documents, side by side: rows of runs that agree in some keys, their
// figures with their spread, and where a row differs from its baseline by more than noise. The
// chokepoint.comparison/1 document and all tables are views of it. What is not known is empty,
// never 0. Values.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/compare/compared_run.h"
#include "analysis/compare/host_facts.h"
#include "base/json/fields.h"
#include "base/math/significance.h"
#include "base/sys/error.h"

namespace chokepoint::analysis {

// Of the values of a row's runs.
struct Estimate {
  double mean = 0;
  double min = 0;
  double max = 0;
  std::size_t count = 0;
  std::optional<double> sd = {};                // of two runs or more
  std::optional<math::Interval> interval = {};  // likewise: where the mean lies
};

// How much of a difference an account explains.
struct AccountChange {
  Account account = Account::Other;
  double ms_per_step = 0;
  double share_percent = 0;  // of the step's difference
};

enum class NoiseTest { MannWhitney, Welch, SingleRun, BlocksOfSteps };

// Of a row from its baseline, in the comparison's metric.
struct Difference {
  std::size_t baseline = 0;  // its number
  std::optional<double> before = {};
  std::optional<double> after = {};
  std::optional<double> change_percent = {};
  std::optional<math::Interval> percent = {};
  std::optional<NoiseTest> test = {};
  std::optional<double> p = {};
  std::optional<double> p_corrected = {};
  std::string why_no_test = {};
  bool is_beyond_noise = false;
  std::optional<bool> is_worse =
      {};  // known if it is beyond noise and the metric has a better side
  std::vector<AccountChange> causes = {};  // the largest first
  std::vector<FactChange> facts = {};      // how the hosts were set up otherwise
};

struct Group {
  std::string name = {};                                // "2x1 Tensor", as name_groups() makes it
  std::vector<std::optional<std::string>> values = {};  // of the comparison's keys
  std::vector<std::size_t> runs = {};                   // numbers in Comparison::runs
  std::optional<std::int64_t> gpus = {};                // empty if its runs do not agree
  std::array<std::optional<Estimate>, kFigures> figures = {};
  std::optional<std::size_t> scaling_reference = {};  // number of the row that is T_1
  std::optional<Accounting> accounting = {};          // the mean of its runs'
  VerdictClass verdict = VerdictClass::Unknown;       // that most of its runs have
  std::map<std::string, std::size_t> verdicts = {};   // how many runs have which
  bool is_baseline = false;
  std::optional<Difference> difference = {};

  const std::optional<Estimate>& operator[](Figure figure) const {
    return figures[place_of(figure)];
  }
};

struct LeftOut {
  std::string path = {};
  std::string reason = {};
};

struct Comparison {
  bool is_of_probes = false;  // else of runs
  std::vector<std::string> keys = {};
  Figure metric = Figure::StepMs;
  double confidence = 0.95;
  double least_percent = 1;
  std::string unit = "samples";
  std::vector<Group> groups = {};
  std::vector<ComparedRun> runs = {};  // in the order of the groups
  std::vector<LeftOut> left_out = {};
  std::vector<std::string> remarks = {};
};

}  // namespace chokepoint::analysis

template <>
struct chokepoint::EnumNames<chokepoint::analysis::NoiseTest> {
  using T = analysis::NoiseTest;
  static constexpr std::string_view kWhat = "a test of noise";
  static constexpr auto kNames =
      std::to_array<EnumName<T>>({{T::MannWhitney, "mann-whitney"},
                                  {T::Welch, "welch"},
                                  {T::SingleRun, "single-run"},
                                  {T::BlocksOfSteps, "blocks-of-steps"}});
};
