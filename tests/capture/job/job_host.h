// Processes of a made-up host, as /proc would show them.
#pragma once

#include <string>

#include "tests/fakes/host_tree.h"

namespace chokepoint::capture::job {

struct FakeProcess {
  int pid = 0;
  int parent = 1;
  int start_ticks = 1000;
  int program = 1;  // another one after an exec()
  char state = 'S';
  std::string command = "train.py";       // words apart by NUL
  std::string environment = "PATH=/bin";  // likewise
  int wait_status = 0;
  std::string name = "python3";
};

class JobHost {
 public:
  JobHost() : tree_(fakes::HostTree::from_text("/proc/loadavg = 0.0 0.0 0.0 1/2 1\n")) {
    put({.pid = 1, .parent = 0, .command = "init"});
  }

  sys::Root root() const { return tree_.root(); }
  const fakes::HostTree& tree() const { return tree_; }

  void put(const FakeProcess& process) {
    const std::string folder = "/proc/" + std::to_string(process.pid) + "/";
    const std::string program = std::to_string(1000 * process.program);
    tree_.write(folder + "stat",
                std::to_string(process.pid) + " (" + process.name + ") " + process.state + " " +
                    std::to_string(process.parent) + " 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 " +
                    std::to_string(process.start_ticks) + " 0 0 0 0 0 " + program +
                    " 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 0 0 0 " + program + " " + program + " " +
                    program + " " + program + " " + std::to_string(process.wait_status) + "\n");
    tree_.write(folder + "cmdline", process.command + '\0');
    tree_.write(folder + "environ", process.environment + '\0');
    tree_.write("/proc/loadavg", "0.0 0.0 0.0 1/2 " + std::to_string(++forks_) + "\n");
  }
  void end(int pid) { tree_.remove("/proc/" + std::to_string(pid)); }

 private:
  fakes::HostTree tree_;
  int forks_ = 1;
};

}  // namespace chokepoint::capture::job
