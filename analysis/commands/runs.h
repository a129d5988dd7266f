// The runs in a folder, as `runs` lists them: the chokepoint.runs/1 document and the table are two
// views of them. What is not known is empty. Values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "analysis/attribution/diagnosis.h"
#include "base/documents/values.h"

namespace chokepoint::analysis {

// What is known of a run without looking into its rows, and its verdict.
struct ListedRun {
  std::string path = {};
  std::string state = {};
  std::vector<std::string> nodes = {};
  std::string command = {};
  std::optional<std::int64_t> steps = {};
  std::optional<double> step_ms = {};
  std::optional<documents::WallTime> started_at = {};
  std::optional<double> duration_s = {};
  std::optional<VerdictClass> verdict = {};
  std::string headline = {};
  std::string trouble = {};
};

struct RunList {
  std::string folder = {};
  std::vector<ListedRun> runs = {};
};

}  // namespace chokepoint::analysis

namespace chokepoint {

template <>
struct Fields<analysis::ListedRun> {
  using R = analysis::ListedRun;
  static constexpr FieldList kList{
      field("run", &R::path, "folder of the run"),
      field("state", &R::state,
            "running, cut off (the record has no end), exit N or ended; null: the run could not be "
            "read")
          .null_if_empty(),
      field("nodes", &R::nodes, "names of the nodes with a record"),
      field("command", &R::command, "command line of the job").null_if_empty(),
      field("steps", &R::steps, "number of steps; null: they could not be determined").at_least(0),
      field("step_ms", &R::step_ms, "mean time of a step").at_least(0),
      field("started_at", &R::started_at, "when the run began; RFC 3339, UTC"),
      field("duration_s", &R::duration_s, "seconds of the node that ran longest").at_least(0),
      field("verdict", &R::verdict, "class of the verdict"),
      field("sentence", &R::headline, "the verdict in words").null_if_empty(),
      field("trouble", &R::trouble, "why the run could not be read").null_if_empty()};
};

template <>
struct Fields<analysis::RunList> {
  using L = analysis::RunList;
  static constexpr std::string_view kSchema = "chokepoint.runs/1";
  static constexpr const char* kCommand = "runs";
  static constexpr FieldList kList{field("folder", &L::folder, "folder as it was given"),
                                   field("runs", &L::runs, "the newest first")};
};

}  // namespace chokepoint
