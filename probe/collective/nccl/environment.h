// NCCL is steered by its process's environment: set before its first call, and never what the user
// has set already. One thread, before others are started.
#pragma once

#include <optional>
#include <string>

#include "base/sys/error.h"

namespace chokepoint::probe::collective::nccl {

// NCCL's log in memory, so that nothing is left where the process is killed, unless the user has a
// log of their own. That one goes to standard error where it had no place: standard output is for
// results. Its descriptor stays open: NCCL opens the file by that number, whenever it pleases.
class LogFile {
 public:
  static Result<LogFile> start();

  // Empty where the log is the user's.
  std::string text() const;

 private:
  std::optional<int> descriptor_ = {};
};

// `named` as this program takes it: exact names, with commas between; "^…" and "=…" as NCCL does.
void use_interface(const std::string& named);

// Ranks that share a GPU have to look like those of different hosts, and use sockets.
void share_gpus(const std::string& host, int rank);

}  // namespace chokepoint::probe::collective::nccl
