// What a history says, as `history` and `history check` print it: the chokepoint.history/1
// document. Values.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "analysis/history/lately.h"
#include "base/cli/command.h"
#include "base/documents/values.h"

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

struct ShownHistory {
  std::string history = {};
  documents::WallTime since = {};
  std::size_t series = 0;
  std::size_t rows = 0;
  std::vector<ShownFinding> findings = {};
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
      field("host", &S::host, "on which it changed"), field("name", &S::name, "of the setting"),
      field("before", &S::before, "its value"), field("after", &S::after, "its value"),
      field("share", &S::share, "of the times that it changed, by which figures changed, too")
          .between(0, 1)};
};

template <>
struct Fields<analysis::ShownChange> {
  using C = analysis::ShownChange;
  static constexpr FieldList kList{
      field("subject", &C::subject, "a host, a path \"a > b\", a device or a job"),
      field("metric", &C::metric, "what was measured of it"),
      field("setting", &C::setting, "what the test was asked for").null_if_empty(),
      field("unit", &C::unit, "null: a count").null_if_empty(),
      field("before", &C::before, "the median before the change"),
      field("after", &C::after, "the median since"),
      field("percent", &C::percent, "more than before; null: that was 0"),
      field("p", &C::p, "that an unchanged series looks so").between(0, 1),
      field("last_good", &C::last_good, "the last measurement before it; RFC 3339, UTC"),
      field("first_bad", &C::first_bad, "the first one after it"),
      field("source_before", &C::source_before, "its document or record").null_if_empty(),
      field("source_after", &C::source_after, "likewise").null_if_empty()};
};

template <>
struct Fields<analysis::ShownFinding> {
  using F = analysis::ShownFinding;
  static constexpr FieldList kList{
      field("sentence", &F::sentence, "for people"),
      field("worse", &F::is_worse, "false: it became better"),
      field("changes", &F::changes, "of one cause, the largest first"),
      field("settings", &F::settings, "that changed on the host meanwhile, the likeliest first")};
};

template <>
struct Fields<analysis::ShownHistory> {
  using H = analysis::ShownHistory;
  static constexpr std::string_view kSchema = "chokepoint.history/1";
  static constexpr const char* kCommand = "history";
  static constexpr FieldList kList{
      field("history", &H::history, "where it is kept"),
      field("since", &H::since, "changes before are left out; RFC 3339, UTC"),
      field("series", &H::series, "that were looked at"), field("rows", &H::rows, "of these"),
      field("findings", &H::findings, "what changed, the worst first")};
};

}  // namespace chokepoint
