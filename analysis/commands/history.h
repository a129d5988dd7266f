// What a history says, as `history` and `history check` print it: the chokepoint.history/1
// document. Values.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/cli/command.h"
#include "base/documents/values.h"
#include "base/trends/lately.h"

namespace chokepoint::analysis {

struct ShownSetting {
  std::string host = {};
  std::string name = {};
  std::string before = {};
  std::string after = {};
  double share = 0;
};

struct ShownChange {
  std::string subject = {};
  std::string metric = {};
  std::string setting = {};
  std::string unit = {};
  double before = 0;
  double after = 0;
  std::optional<double> percent = {};
  double p = 1;
  documents::WallTime last_good = {};
  documents::WallTime first_bad = {};
  std::string source_before = {};
  std::string source_after = {};
};

struct ShownFinding {
  std::string sentence = {};
  bool is_worse = true;
  std::vector<ShownChange> changes = {};
  std::vector<ShownSetting> settings = {};
};

struct ShownHost {
  std::string sentence = {};
  std::string host = {};
  std::string what = {};
  std::string metric = {};
  std::string setting = {};
  std::string unit = {};
  double value = 0;
  double others = 0;
  std::int64_t peers = 0;
  std::optional<double> percent = {};
  double p = 1;
  bool is_worse = true;
};

struct ShownHistory {
  std::string history = {};
  documents::WallTime since = {};
  std::size_t series = 0;
  std::size_t rows = 0;
  std::vector<ShownFinding> findings = {};
  std::vector<ShownHost> hosts = {};
};

// Each is in a file of its name.
cli::CommandFactory history_add_command();
cli::CommandFactory history_check_command();
cli::CommandFactory history_export_command();
cli::CommandFactory history_prune_command();

}  // namespace chokepoint::analysis

namespace chokepoint {

template <>
struct Fields<analysis::ShownSetting> {
  using S = analysis::ShownSetting;
  static constexpr FieldList kList{
      field("host", &S::host, "host on which the setting changed"),
      field("name", &S::name, "name of the setting"),
      field("before", &S::before, "value before the change"),
      field("after", &S::after, "value after the change"),
      field("share", &S::share, "share of the setting's changes at which a figure changed, too")
          .between(0, 1)};
};

template <>
struct Fields<analysis::ShownChange> {
  using C = analysis::ShownChange;
  static constexpr FieldList kList{
      field("subject", &C::subject, "a host, a path \"a > b\", a device or a job"),
      field("metric", &C::metric, "what was measured of the subject"),
      field("setting", &C::setting, "settings of the test").null_if_empty(),
      field("unit", &C::unit, "unit of the metric; null: a count").null_if_empty(),
      field("before", &C::before, "the median before the change"),
      field("after", &C::after, "the median since"),
      field("percent", &C::percent, "change in percent; null: the value before was 0"),
      field("p", &C::p, "probability that a series without a change looks like this one")
          .between(0, 1),
      field("last_good", &C::last_good, "the last measurement before the change; RFC 3339, UTC"),
      field("first_bad", &C::first_bad, "the first measurement after the change"),
      field("source_before", &C::source_before,
            "document or record of the last measurement before the change")
          .null_if_empty(),
      field("source_after", &C::source_after,
            "document or record of the first measurement after the change")
          .null_if_empty()};
};

template <>
struct Fields<analysis::ShownFinding> {
  using F = analysis::ShownFinding;
  static constexpr FieldList kList{
      field("sentence", &F::sentence, "the finding in words"),
      field("worse", &F::is_worse, "whether the figure became worse; false: better"),
      field("changes", &F::changes, "changes that have one cause, the largest first"),
      field("settings", &F::settings,
            "settings that changed on the host in the same period, the likeliest first")};
};

template <>
struct Fields<analysis::ShownHost> {
  using H = analysis::ShownHost;
  static constexpr FieldList kList{
      field("sentence", &H::sentence, "for people"),
      field("host", &H::host, "its name"),
      field("what", &H::what, "device, folder or paths of the host; null: the host itself")
          .null_if_empty(),
      field("metric", &H::metric, "what was measured"),
      field("setting", &H::setting, "what the test was asked for").null_if_empty(),
      field("unit", &H::unit, "unit of both values; null: a count").null_if_empty(),
      field("value", &H::value, "median of the host's latest measurements"),
      field("others", &H::others, "median of the other hosts"),
      field("peers", &H::peers, "number of the other hosts").at_least(3),
      field("percent", &H::percent, "difference from the others; null: they have 0"),
      field("p", &H::p, "probability that one of equal hosts differs so much").between(0, 1),
      field("worse", &H::is_worse, "false: better than the others")};
};

template <>
struct Fields<analysis::ShownHistory> {
  using H = analysis::ShownHistory;
  static constexpr std::string_view kSchema = "chokepoint.history/1";
  static constexpr const char* kCommand = "history";
  static constexpr FieldList kList{
      field("history", &H::history, "where the history is kept"),
      field("since", &H::since, "changes before are left out; RFC 3339, UTC"),
      field("series", &H::series, "number of series examined"),
      field("rows", &H::rows, "number of rows in these series"),
      field("findings", &H::findings, "what changed, the worst first"),
      field("hosts", &H::hosts, "hosts that differ from hosts with the same hardware")};
};

}  // namespace chokepoint
