// Which of the job's processes holds a socket, by the numbers of the sockets among its open files.
// One that several hold, because it was there before they forked, is the one's that has a rank, or
// else the oldest's.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/sys/root.h"
#include "capture/job/process.h"

namespace chokepoint::capture::socket {

class Holders {
 public:
  explicit Holders(sys::Root root) : root_(std::move(root)) {}

  // Looks again at all of them.
  void read(const job::JobProcesses& processes);

  // Null: none of the processes has it. Stands until the next read.
  const job::JobProcess* holder_of(std::uint32_t inode) const;
  // Processes whose open files may not be seen; 0 where all may.
  std::size_t hidden() const { return hidden_; }

 private:
  void read(const job::JobProcess& process, std::size_t index);

  sys::Root root_;
  job::JobProcesses processes_;
  std::unordered_map<std::uint32_t, std::size_t> by_inode_;
  std::size_t hidden_ = 0;
};

}  // namespace chokepoint::capture::socket
