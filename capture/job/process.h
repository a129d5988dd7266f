// Processes: those of the watched job, how the job is selected, and what /proc and cgroups show.
// Everything is read below a given root; any thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/host/launcher.h"
#include "base/sys/root.h"

namespace chokepoint::capture::job {

using host::Rank;

// Added by shells to a signal's number to make an exit code of it.
inline constexpr int kSignalBase = 128;

struct JobProcess {
  pid_t pid = 0;
  pid_t parent = 0;
  std::uint64_t start_ticks = 0;  // since boot: with the pid a unique name
  std::int64_t start_ns = 0;      // monotonic
  std::string command = {};       // as a shell would take it, cut at a bounded length
  Rank rank = {};
  std::uint64_t network = 0;   // the inode of its network namespace; 0: not known
  pid_t own_pid = 0;           // as it sees itself: another one where it has a PID namespace
  std::int64_t record_id = 0;  // its row in the run record; 0: none
};

using JobProcesses = std::vector<JobProcess>;

// One line of /proc/PID/stat.
struct StatLine {
  std::string name = {};
  char state = 0;
  pid_t parent = 0;
  pid_t group = 0;
  std::uint64_t start_ticks = 0;
  // Addresses of the program's stack, arguments and environment: they change by an exec(). 0 if
  // this process may not read them.
  std::uint64_t stack = 0;
  std::uint64_t arguments = 0;
  std::uint64_t arguments_end = 0;
  std::uint64_t environment = 0;
  std::uint64_t environment_end = 0;
  int wait_status = 0;  // as waitpid() would give it; of a process that has ended

  bool has_ended() const { return state == 'Z' || state == 'X'; }
};

// nullopt if the line is malformed.
std::optional<StatLine> parse_stat(std::string_view line);
std::optional<StatLine> read_stat(const sys::Root& root, pid_t pid);

// The inode of a process's network namespace, from "/proc/PID/ns/net"; 0: it cannot be read.
std::uint64_t network_at(const sys::Root& root, std::string_view path);

// The pid of a process in its own PID namespace, from /proc/PID/status; 0: it cannot be read.
pid_t own_pid_of(const sys::Root& root, pid_t pid);

// Whether a process has mapped the file with this inode, whose name ends so; nullopt if
// /proc/PID/maps cannot be read.
std::optional<bool> maps_file(const sys::Root& root, pid_t pid, std::uint64_t inode,
                              std::string_view suffix);

// The names in a folder that are numbers, in rising order.
std::vector<pid_t> pids_below(const sys::Root& root, std::string_view folder);

// The folder of a cgroup's files, of version 1 or 2. `name`: a line or the path of /proc/PID/cgroup
// ("0::/a/b", "4:memory:/a/b", "/a/b"), or a path in /sys/fs/cgroup, with or without that prefix.
// nullopt if there is no such cgroup.
std::optional<std::string> find_cgroup(const sys::Root& root, const std::string& name);

// The processes in a cgroup and in those below it: in rising order, each once; nullopt if the
// folder is gone.
std::optional<std::vector<pid_t>> pids_of_cgroup(const sys::Root& root, const std::string& folder);

// Which processes are the watched job.
struct Selection {
  pid_t pid = 0;            // it and its descendants; 0: none
  std::string cgroup = {};  // as in /proc/PID/cgroup, or a path below /sys/fs/cgroup; empty: none
  // The process that becomes the parent of orphans (see sys::adopt_orphans): its descendants are
  // the job's, except the given ones.
  pid_t adopter = 0;
  std::vector<pid_t> not_the_jobs = {};
};

}  // namespace chokepoint::capture::job
