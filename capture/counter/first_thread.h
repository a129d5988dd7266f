// What the first thread of a process does at this moment, by /proc/PID/stat, wchan, syscall and fd:
// it runs, sleeps, is stopped, or waits for a file system. Nothing here waits for the process
// itself, so reading also returns where it hangs in the kernel. The thread of its owner only.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/host/mounts.h"
#include "base/sys/root.h"
#include "capture/counter/kernel_file.h"

namespace chokepoint::capture::counter {

// Rests: for a time that it chose itself, which no batch and no other rank ends. Stopped: by a
// signal, a debugger, or its cgroup's freezer.
enum class Doing { Runs, Sleeps, Rests, Reads, Writes, Stopped };

std::string_view name_of(Doing doing);  // "reads"

struct ThreadSample {
  Doing doing = Doing::Sleeps;
  std::string mount = {};  // of the file; "?" where it is not known which
  // Sleeps until a pipe, or one of several descriptors, has something to read: as a rank does that
  // waits at the queue of its loaders. Collectives wait for other threads instead, by a futex.
  bool is_at_queue = false;
  bool is_at_socket = false;    // sleeps until a socket has something for it, or takes it
  std::uint64_t cpu_ticks = 0;  // that all threads of the process have run, in the kernel's ticks

  bool is_of_files() const { return doing == Doing::Reads || doing == Doing::Writes; }
};

// For people, where a process hangs.
struct ThreadDetail {
  ThreadSample sample = {};
  char state = '?';
  std::string waits_in = {};                     // the kernel's function; empty: not known
  std::optional<std::int64_t> system_call = {};  // its number
  std::string file = {};  // that the call is about; empty: none, or not known
};

class FirstThread {
 public:
  FirstThread(const sys::Root& root, pid_t pid);

  // nullopt where the process has gone.
  std::optional<ThreadSample> sample(const sys::Root& root, const host::ProcessMounts& mounts,
                                     std::string& buffer);
  std::optional<ThreadDetail> inspect(const sys::Root& root, const host::ProcessMounts& mounts,
                                      std::string& buffer);

 private:
  // "18 0x5 0x7f… …": the system call that a sleeping thread is in, and its first argument.
  struct SystemCall {
    std::int64_t number = -1;
    std::optional<std::uint64_t> first = {};
  };

  static std::optional<SystemCall> system_call_in(std::string_view text);
  // Of /proc/PID/stat.
  struct Stat {
    char state = '?';
    std::uint64_t cpu_ticks = 0;
  };

  std::optional<Stat> stat(std::string& buffer);
  std::optional<SystemCall> system_call(const sys::Root& root) const;
  std::string file_of(const sys::Root& root, const std::optional<SystemCall>& call) const;
  // Of a thread in state S or D.
  void add_sleep(const sys::Root& root, const host::ProcessMounts& mounts, char state,
                 std::string_view waits_in, ThreadSample& sample) const;
  void add_files(const sys::Root& root, const host::ProcessMounts& mounts,
                 std::string_view waits_in, ThreadSample& sample) const;

  pid_t pid_;
  KernelFile stat_file_;
  KernelFile waits_in_;
};

}  // namespace chokepoint::capture::counter
