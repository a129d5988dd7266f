// Records of runs that never were, and what `chokepoint compare` says of them, in this process.
//
//   MadeRecords runs;
//   runs.add({.labels = {{"setup", "2x1"}}, .step_ms = 100, .samples = 512});
//   const fakes::CliRun run = run_compare(runs.folders(), {"--json"});
//
// One thread.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/analysis/run_maker.h"
#include "tests/fakes/cli_run.h"

namespace chokepoint::analysis {

struct MadeRecord {
  std::map<std::string, std::string> labels = {};
  std::int64_t nodes = 1;
  std::int64_t ranks_each = 1;  // of a node
  std::int64_t steps = 30;
  double step_ms = 100;
  double wobble = 0;                     // of a step's length, up and down in turn
  record::Figure samples = {};           // of a step, all of which rank 0 tells
  double duration_s = 0;                 // 0: as long as the steps
  double volume_bytes = 0;               // that all nodes sent together; 0: nobody counted
  std::vector<double> epochs_at_s = {};  // marks
  double gpu_memory_bytes = 0;
  double copying_ms = 0;  // of each step, at its end, between two nodes with a link that this fills
  int exit_status = 0;
};

class MadeRecords {
 public:
  // Its folder.
  std::string add(const MadeRecord& record);
  const std::vector<std::string>& folders() const { return folders_; }

 private:
  std::vector<std::unique_ptr<RunMaker>> runs_;
  std::vector<std::string> folders_;
};

fakes::CliRun run_compare(const std::vector<std::string>& folders,
                          const std::vector<std::string>& options = {});

}  // namespace chokepoint::analysis
