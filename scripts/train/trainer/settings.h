// What a rank of the trainer is told: flags first, then the variables that launchers set. Values.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <string>

namespace chokepoint::trainer {

struct Settings {
  std::string pattern = "dp";  // dp, tp or pp
  int rank = 0;                // else RANK
  int ranks = 1;               // else WORLD_SIZE
  std::string meet = {};       // a folder that all ranks see, new for each run
  std::string interface = {};  // else GLOO_SOCKET_IFNAME, else by the host's name
  int family = 0;              // 4 or 6; 0: whichever the interface has first
  std::string rdma = {};       // a device for verbs instead of TCP
  int gid_index = 1;           // of it: by IPv4, where the first one is the link's own

  std::size_t bytes = 8 << 20;  // a step: gradients (dp), one activation (tp), all of them (pp)
  int pieces = 4;               // buckets (dp), layers (tp), micro-batches (pp)
  double compute_ms = 60;       // a step and rank
  bool spin = false;            // computes by taking that much processor time, else sleeps
  bool forward_only = false;    // pp: nothing goes back, as where the first stages are frozen

  std::optional<int> late_rank = {};
  double late_ms = 0;

  long steps = std::numeric_limits<long>::max();
  double seconds = std::numeric_limits<double>::infinity();
  bool quiet = false;
  bool marks = false;      // also by CHOKEPOINT_MARKS
  std::string truth = {};  // a file for what was really spent on what
};

// Nothing: help was asked for, and given. Throws std::exception where the words make no sense.
std::optional<Settings> parse(int argc, char** argv);

}  // namespace chokepoint::trainer
