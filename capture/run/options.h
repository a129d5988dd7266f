// The options of watching a job.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "capture/job/place.h"

namespace chokepoint::capture::run {

// By which NCCL finds a profiler plugin.
inline constexpr const char* kPluginVariable = "NCCL_PROFILER_PLUGIN";
// By which the job finds its run's folder.
inline constexpr const char* kRunVariable = "CHOKEPOINT_RUN";

struct Options {
  job::PlaceOptions place = {};
  std::string folder = {};   // chosen by it when the record is opened
  bool made_folder = false;  // likewise
  std::string node = {};     // empty: the host's name
  std::map<std::string, std::string> labels = {};
  std::vector<std::string> command = {};  // what is watched, for the record
  bool keep_secrets = false;              // in command lines
  std::string program = {};               // this program's version
  bool packets = true;
  std::string tap_program = {};              // see tap::TapOptions::program
  std::vector<std::string> interfaces = {};  // empty: those that the job uses
  std::string step_expression = {};          // empty: the forms that are known
  std::optional<std::int64_t> samples_per_step = {};
  std::string runtime_folder = "/tmp";  // where the socket for marks may lie
  std::string metrics_address = {};     // empty: none are served
  bool may_move_metrics = false;        // to the next free port, if that is taken
  std::string otlp_url = {};            // of a collector; empty: none
  std::int64_t stall_after_ns = 10'000'000'000;
  std::string stall_hook = {};  // a shell's command; empty: none
  bool takes_stacks = false;    // of ranks, while the job stands still
  bool starts_job = true;       // false: it runs already
  bool is_strict = false;       // what cannot be watched as the options want is an error
  double allowed_percent = 0;   // of its time and traffic, for tests while it runs; 0: none
  bool nccl = true;
  std::string nccl_profiler = {};  // that the job's environment had named
};

}  // namespace chokepoint::capture::run
