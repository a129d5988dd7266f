// What the page of `web` draws of a history: the hosts beside each other, and one subject over
// time. Both are bounded, however long the history is. Values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/documents/main_figures.h"
#include "base/documents/values.h"

namespace chokepoint::analysis::web {

using documents::Better;

// What is measured of several subjects in the same way.
struct Column {
  std::string metric = {};
  std::string title = {};
  std::string setting = {};
  std::string unit = {};
  Better better = Better::Neither;
};

// Of all series of a column on one host.
struct Cell {
  std::size_t column = 0;
  double value = 0;
  documents::WallTime at = {};
  std::size_t series = 0;
  // The largest change lately; what became worse goes before what became better.
  std::optional<double> before = {};
  std::optional<double> percent = {};
  std::optional<documents::WallTime> since = {};
  std::optional<bool> is_worse = {};
  // Where the host is unlike its peers.
  std::optional<double> others = {};
  std::optional<double> times = {};
};

struct FleetRow {
  std::string subject = {};
  std::string kind = {};
  std::vector<Cell> cells = {};
};

struct FleetFinding {
  std::string sentence = {};
  bool is_worse = true;
  std::string subject = {};
  std::string metric = {};
};

struct Fleet {
  std::string history = {};
  documents::WallTime since = {};
  bool is_searched = true;
  std::size_t series = 0;
  std::size_t rows = 0;
  std::vector<FleetFinding> findings = {};
  std::vector<Column> columns = {};
  std::vector<FleetRow> subjects = {};
  std::size_t left_out = 0;
};

struct TimedChange {
  documents::WallTime last_good = {};
  documents::WallTime first_bad = {};
  double before = 0;
  double after = 0;
  std::optional<double> percent = {};
  double p = 1;
  bool is_worse = true;
  std::string source_before = {};
  std::string source_after = {};
  std::string run_before = {};
  std::string run_after = {};
};

struct TimedSeries {
  std::string subject = {};
  std::string metric = {};
  std::string title = {};
  std::string setting = {};
  std::string unit = {};
  Better better = Better::Neither;
  std::size_t points = 0;
  std::vector<std::int64_t> times_s = {};
  std::vector<double> values = {};
  std::vector<TimedChange> changes = {};
};

struct TimedSetting {
  std::string host = {};
  std::string name = {};
  std::string before = {};
  std::string after = {};
  documents::WallTime last_seen = {};
  documents::WallTime first_seen = {};
};

struct SubjectOverTime {
  std::string history = {};
  std::string subject = {};
  std::vector<TimedSeries> series = {};
  std::vector<TimedSetting> settings = {};
  std::size_t left_out = 0;
};

}  // namespace chokepoint::analysis::web

namespace chokepoint {

template <>
struct EnumNames<documents::Better> {
  using enum documents::Better;
  static constexpr std::string_view kWhat = "more, less or neither";
  static constexpr auto kNames = std::to_array<EnumName<documents::Better>>(
      {{More, "more"}, {Less, "less"}, {Neither, "neither"}});
};

template <>
struct Fields<analysis::web::Column> {
  using C = analysis::web::Column;
  static constexpr FieldList kList{
      field("metric", &C::metric, "name of the figure, such as throughput_mbps"),
      field("title", &C::title, "name of the figure for people"),
      field("setting", &C::setting, "settings of the test").null_if_empty(),
      field("unit", &C::unit, "unit of the figure; null: a count").null_if_empty(),
      field("better", &C::better, "whether more or less of it is better")};
};

template <>
struct Fields<analysis::web::Cell> {
  using C = analysis::web::Cell;
  static constexpr FieldList kList{
      field("column", &C::column, "index in columns, from 0"),
      field("value", &C::value, "newest value; median of the newest values of several series"),
      field("at", &C::at, "time of the newest measurement; RFC 3339, UTC"),
      field("series", &C::series, "number of series"),
      field("before", &C::before, "median before the largest recent change; null: no change"),
      field("percent", &C::percent, "size of that change; null: no change, or before is 0"),
      field("since", &C::since, "time of the first measurement after that change"),
      field("worse", &C::is_worse, "whether that change is for the worse; null: no change"),
      field("others", &C::others,
            "median of the other hosts; null: this host does not differ from them"),
      field("times", &C::times, "this host's value divided by others; null: likewise")};
};

template <>
struct Fields<analysis::web::FleetRow> {
  using R = analysis::web::FleetRow;
  static constexpr FieldList kList{
      field("subject", &R::subject, "name of a host or a job"),
      field("kind", &R::kind, "kind of the subject: host, job or group"),
      field("cells", &R::cells, "figures of this subject, in the order of columns")};
};

template <>
struct Fields<analysis::web::FleetFinding> {
  using F = analysis::web::FleetFinding;
  static constexpr FieldList kList{
      field("sentence", &F::sentence, "the finding in words, as `history` prints it"),
      field("worse", &F::is_worse, "whether something became worse; false: better"),
      field("subject", &F::subject, "subject of the largest change"),
      field("metric", &F::metric, "name of the figure that changed")};
};

template <>
struct Fields<analysis::web::Fleet> {
  using F = analysis::web::Fleet;
  static constexpr std::string_view kSchema = "chokepoint.web.fleet/1";
  static constexpr const char* kCommand = "web";
  static constexpr FieldList kList{
      field("history", &F::history, "file or server of the history"),
      field("since", &F::since, "changes before this time are left out; RFC 3339, UTC"),
      field("searched", &F::is_searched, "whether changes were searched for; false: --newest"),
      field("series", &F::series, "number of series that were read"),
      field("rows", &F::rows, "number of rows of these series"),
      field("findings", &F::findings, "what changed, the worst first"),
      field("columns", &F::columns, "figures, those that most subjects have first"),
      field("subjects", &F::subjects, "hosts, then what is on no single host"),
      field("left_out", &F::left_out, "number of subjects and columns left out")};
};

template <>
struct Fields<analysis::web::TimedChange> {
  using C = analysis::web::TimedChange;
  static constexpr FieldList kList{
      field("last_good", &C::last_good,
            "time of the last measurement before the change; RFC 3339, UTC"),
      field("first_bad", &C::first_bad, "time of the first measurement after the change"),
      field("before", &C::before, "median before the change"),
      field("after", &C::after, "median after the change"),
      field("percent", &C::percent, "size of the change; null: before is 0"),
      field("p", &C::p, "probability that an unchanged series looks like this").between(0, 1),
      field("worse", &C::is_worse, "whether the change is for the worse"),
      field("source_before", &C::source_before, "document or record of the last good measurement")
          .null_if_empty(),
      field("source_after", &C::source_after, "document or record of the first bad measurement")
          .null_if_empty(),
      field("run_before", &C::run_before,
            "run of the last good measurement; null: it is none in the folder of runs")
          .null_if_empty(),
      field("run_after", &C::run_after, "run of the first bad measurement; null: as before")
          .null_if_empty()};
};

template <>
struct Fields<analysis::web::TimedSeries> {
  using S = analysis::web::TimedSeries;
  static constexpr FieldList kList{
      field("subject", &S::subject, "a host, a path \"a > b\", a device or a job"),
      field("metric", &S::metric, "name of the figure"),
      field("title", &S::title, "name of the figure for people"),
      field("setting", &S::setting, "settings of the test").null_if_empty(),
      field("unit", &S::unit, "unit of the values; null: a count").null_if_empty(),
      field("better", &S::better, "whether more or less is better"),
      field("points", &S::points, "number of points in the history"),
      field("times_s", &S::times_s,
            "times of the values shown, seconds since 1970: all, or of many points the least and "
            "the largest of each interval"),
      field("values", &S::values, "values at these times"),
      field("changes", &S::changes, "changes of level, in order of time")};
};

template <>
struct Fields<analysis::web::TimedSetting> {
  using S = analysis::web::TimedSetting;
  static constexpr FieldList kList{
      field("host", &S::host, "host on which the setting changed"),
      field("name", &S::name, "name of the setting"),
      field("before", &S::before, "value before the change"),
      field("after", &S::after, "value after the change"),
      field("last_seen", &S::last_seen, "time when the value before was last read; RFC 3339, UTC"),
      field("first_seen", &S::first_seen, "time when the value after was first read")};
};

template <>
struct Fields<analysis::web::SubjectOverTime> {
  using S = analysis::web::SubjectOverTime;
  static constexpr std::string_view kSchema = "chokepoint.web.subject/1";
  static constexpr const char* kCommand = "web SUBJECT";
  static constexpr FieldList kList{
      field("history", &S::history, "file or server of the history"),
      field("subject", &S::subject, "subject that was asked for"),
      field("series", &S::series, "series of the subject, the most recent change first"),
      field("settings", &S::settings, "settings that changed on its hosts, in order of time"),
      field("left_out", &S::left_out, "number of series and settings left out")};
};

}  // namespace chokepoint
