// chokepoint.trials/1: a test that was repeated, with variants of it in turns, and what that
// proves.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/documents/host_facts.h"
#include "base/json/fields.h"
#include "base/math/significance.h"

namespace chokepoint {

namespace documents {

enum class TrialsEnd : std::uint8_t { Rounds, Sure, Failures, Interrupted };

struct TrialsDifference {
  double percent = 0;
  math::Interval interval_percent = {};
  double p = 1;
  bool differs = false;
  bool alike = false;
};

struct TrialsFigure {
  std::string name = {};
  std::string unit = {};
  std::string field = {};
  std::vector<std::optional<double>> values = {};
  std::optional<double> mean = {};
  std::optional<double> median = {};
  std::optional<math::Interval> mean_interval = {};
  std::optional<TrialsDifference> against_first = {};
};

struct TrialsVariant {
  std::string name = {};
  std::vector<std::string> words = {};
  std::string setup = {};
  std::size_t failed = 0;
  std::vector<TrialsFigure> figures = {};
  std::optional<HostFacts> host_facts = {};
};

struct Trials {
  std::string command = {};
  std::string varied = {};
  std::size_t rounds = 0;
  TrialsEnd ended_by = TrialsEnd::Rounds;
  std::string deciding = {};
  std::vector<TrialsVariant> variants = {};
  std::vector<std::string> summary = {};
  std::vector<std::string> errors = {};
};

inline constexpr std::size_t kMaxCommandBytes = std::size_t{1}
                                                << 17;  // as Linux bounds an argument

}  // namespace documents

template <>
struct EnumNames<documents::TrialsEnd> {
  using enum documents::TrialsEnd;
  static constexpr std::string_view kWhat = "what ended the trials";
  static constexpr auto kNames = std::to_array<EnumName<documents::TrialsEnd>>(
      {{Rounds, "rounds"}, {Sure, "sure"}, {Failures, "failures"}, {Interrupted, "interrupted"}});
};

template <>
struct Fields<math::Interval> {
  using I = math::Interval;
  static constexpr FieldList kList{field("low", &I::low), field("high", &I::high)};
};

template <>
struct Fields<documents::TrialsDifference> {
  using D = documents::TrialsDifference;
  static constexpr FieldList kList{
      field("percent", &D::percent, "difference in percent of the first variant's mean"),
      field("interval_percent", &D::interval_percent,
            "interval that contains the difference, percent"),
      field("p", &D::p, "p-value of Welch's test, two-sided").between(0, 1),
      field("differs", &D::differs,
            "whether the difference is more than chance, at 5 % over all variants"),
      field("alike", &D::alike, "whether the interval lies within 2 %")};
};

template <>
struct Fields<documents::TrialsFigure> {
  using F = documents::TrialsFigure;
  static constexpr FieldList kList{
      field("name", &F::name, "name to show"),
      field("unit", &F::unit, "unit of the figure; empty: a count"),
      field("field", &F::field,
            "JSON pointer to the figure in the document of a trial; - is the last item of a list"),
      field("values", &F::values,
            "one value for each trial that succeeded; null: not measured in that trial"),
      field("mean", &F::mean, "mean of the trials; null: measured in no trial"),
      field("median", &F::median, "median of the trials; null: measured in no trial"),
      field("mean_interval", &F::mean_interval,
            "95 % interval of the mean; null with fewer than two values"),
      field("against_first", &F::against_first,
            "difference from the first variant; null for the first variant, and with fewer than "
            "two values")};
};

template <>
struct Fields<documents::TrialsVariant> {
  using V = documents::TrialsVariant;
  static constexpr FieldList kList{
      field("name", &V::name, "value of the option, or what the variant adds to the command line")
          .up_to_bytes(documents::kMaxCommandBytes),
      field("words", &V::words, "words of the command line")
          .up_to_bytes(documents::kMaxCommandBytes),
      field("setup", &V::setup, "shell command that ran before each trial; null: none")
          .up_to_bytes(documents::kMaxCommandBytes)
          .null_if_empty(),
      field("failed", &V::failed, "number of trials that failed"),
      field("figures", &V::figures, "figures measured in any variant"),
      field("host_facts", &V::host_facts, "host facts of the last trial; null: none")};
};

template <>
struct Fields<documents::Trials> {
  using T = documents::Trials;
  static constexpr std::string_view kSchema = "chokepoint.trials/1";
  static constexpr const char* kCommand = "probe|rdma … --repeat N";
  static constexpr FieldList kList{
      field("command", &T::command, "command that was repeated")
          .up_to_bytes(documents::kMaxCommandBytes),
      field("varied", &T::varied, "option that has a list of values; null: none").null_if_empty(),
      field("rounds", &T::rounds, "number of rounds completed"),
      field("ended_by", &T::ended_by,
            "why the trials ended; sure: --until-sure; failures: several failed in a row"),
      field("deciding", &T::deciding,
            "figure that the variants are compared by; null: none was measured in all variants")
          .null_if_empty(),
      field("variants", &T::variants, "variants; the others are compared with the first"),
      field("summary", &T::summary, "what is proven, one line for each variant")
          .up_to_bytes(2 * documents::kMaxCommandBytes),
      field("errors", &T::errors, "errors of trials that failed, each once").up_to_bytes(1 << 20)};
};

}  // namespace chokepoint
