// How measurements stand against earlier ones, in words and as a document's part. Pure; any thread.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/documents/values.h"
#include "base/trends/standing.h"

namespace chokepoint::trends {

// What a measurement is called: a run, a test.
struct MeasurementName {
  const char* one = "test";
  const char* several = "tests";
};
inline constexpr MeasurementName kTests{};
inline constexpr MeasurementName kRuns{.one = "run", .several = "runs"};

// "usual: 412 ms in 12 earlier runs; this run +1 %"
// "12 earlier runs took 412 ms; this run 498 ms (+21 %, p 0.0002), since run41 of 2026-05-03 14:10"
std::string standing_text(const Standing& standing, const MeasurementName& name);

// Unusual ones that have one cause, as join_findings() finds it: all of what is worse, then all of
// what is better.
struct UnusualPlace {
  std::string sentence = {};  // "c > a: throughput 94.0 → 71.0 Mb/s (-24 %), 3 of 3 paths from c"
  bool is_worse = true;
  std::vector<Standing> standings = {};  // the one that differs most first
};

// `standings` are of one moment.
std::vector<UnusualPlace> unusual_places(std::span<const Standing> standings,
                                         const MeasurementName& name);

struct ShownSince {
  documents::WallTime at = {};
  std::string source = {};
  std::int64_t count = 0;
};

// The part of a document.
struct ShownStanding {
  std::string sentence = {};
  std::string subject = {};
  std::string metric = {};
  std::string unit = {};
  double value = 0;
  double usual = 0;
  std::int64_t earlier = 0;
  std::optional<double> percent = {};
  double p = 1;
  bool is_unusual = false;
  bool is_worse = false;
  std::optional<ShownSince> since = {};
};

struct ShownPlace {
  std::string sentence = {};
  bool is_worse = true;
  std::vector<ShownStanding> standings = {};
};

ShownStanding shown(const Standing& standing, const MeasurementName& name);
ShownPlace shown(const UnusualPlace& place, const MeasurementName& name);

}  // namespace chokepoint::trends

namespace chokepoint {

template <>
struct Fields<trends::ShownSince> {
  using S = trends::ShownSince;
  static constexpr FieldList kList{
      field("at", &S::at, "time of the first measurement at the new level; RFC 3339, UTC"),
      field("source", &S::source, "its record or document").null_if_empty(),
      field("count", &S::count, "measurements at the new level, with this one").at_least(1)};
};

template <>
struct Fields<trends::ShownStanding> {
  using S = trends::ShownStanding;
  static constexpr FieldList kList{
      field("sentence", &S::sentence, "for people"),
      field("subject", &S::subject, "a host, a path \"a > b\", a device or a job"),
      field("metric", &S::metric, "what is compared"),
      field("unit", &S::unit, "unit of both values; null: a count").null_if_empty(),
      field("value", &S::value, "this measurement"),
      field("usual", &S::usual, "median of the earlier measurements"),
      field("earlier", &S::earlier, "number of earlier measurements").at_least(1),
      field("percent", &S::percent, "difference from the usual value; null: that is 0"),
      field("p", &S::p, "probability that a usual measurement differs so much; 1: too few to say")
          .between(0, 1),
      field("unusual", &S::is_unusual, "false: chance explains the difference"),
      field("worse", &S::is_worse, "true only if it is unusual"),
      field("since", &S::since, "where the level changed; null: it did not")};
};

template <>
struct Fields<trends::ShownPlace> {
  using P = trends::ShownPlace;
  static constexpr FieldList kList{
      field("sentence", &P::sentence, "for people"),
      field("worse", &P::is_worse, "false: better than usual"),
      field("standings", &P::standings, "unusual measurements with one cause")};
};

}  // namespace chokepoint
