// A child process and its whole tree: start it, signal it, wait for it, leave nothing behind.
//
//   start ──► running ──► ended (wait, poll)
//                │
//                └─ end_tree: SIGTERM to all ─ grace ─► SIGKILL to all ─► reaped
//
// The child leads its own process group, so signals reach what it started in turn. A Process that
// is dropped while running leaves its child running: whoever watches a job must never end it by
// accident. One thread at a time.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/sys/clock.h"
#include "base/sys/descriptor.h"
#include "base/sys/error.h"
#include "base/sys/root.h"

namespace chokepoint::sys {

struct ExitStatus {
  int code = 0;    // exit code; 128 + signal where a signal ended it, as shells say it
  int signal = 0;  // 0 where it ended by itself
  bool operator==(const ExitStatus&) const = default;
};

struct Spawn {
  std::vector<std::string> command;                                   // looked up in PATH
  std::vector<std::pair<std::string, std::string>> environment = {};  // on top of this process's
  // The variables of this process that the child gets; without it all of them.
  std::optional<std::vector<std::string>> inherited = {};
  std::string folder = {};  // working folder; empty for this process's
  int in = -1;              // descriptors for the child's standard streams; -1 for this process's
  int out = -1;
  int err = -1;
  bool foreground = false;  // give the child's group the terminal on standard input, where one is
  int terminal = -1;        // give the child's group this terminal
  // Signals that this process ignores stay ignored, as exec() leaves them; else none is.
  bool keep_ignored = false;
  sigset_t blocked = {};  // in the child
};

// Whether this process ignores a signal.
bool is_ignored(int number);

// Some callers leave SIGCHLD ignored, and then the kernel keeps no exit status of a child. Before
// the first child: the signal has its default from here on, but in children with `keep_ignored`.
void notice_children();

// Leaves it as this process's caller had it, before an exec().
void ignore_children_as_before();

class Process {
 public:
  static Result<Process> start(const Spawn& spawn);
  // Runs `work` in a child and exits with what it returns; the child ends with this process. For
  // work that may hang, such as a look at a folder that does not answer. Only from a process with
  // one thread.
  static Result<Process> fork(const std::function<int()>& work);
  // Likewise, but it goes on when this process has ended.
  static Result<Process> fork_to_outlive(const std::function<int()>& work);

  pid_t pid() const { return pid_; }
  // Readable once the child has ended: for poll() and event loops.
  int descriptor() const { return pidfd_.get(); }

  // To the child's whole process group. A group that is already gone is no error.
  Result<> signal(int number) const;
  Result<std::optional<ExitStatus>> poll();
  Result<ExitStatus> wait();
  // Nothing where `until` came first, or `interrupt` became readable (-1: nothing does).
  Result<std::optional<ExitStatus>> wait_until(std::chrono::steady_clock::time_point until,
                                               int interrupt = -1);

 private:
  Process(pid_t pid, Descriptor pidfd) : pid_(pid), pidfd_(std::move(pidfd)) {}
  static Result<Process> fork_with(const std::function<int()>& work, bool ends_with_parent);
  Result<std::optional<ExitStatus>> collect(int options);

  pid_t pid_ = -1;
  Descriptor pidfd_;
  std::optional<ExitStatus> ended_;
};

// What a child wrote to its standard streams, and how it ended.
struct Captured {
  ExitStatus status = {};
  std::string out = {};
  std::string err = {};  // the last of it
};

// Runs it to its end; its `out` and `err` are pipes of this function's own. An Error where it does
// not start, takes longer than `wait` or writes more than `most_bytes`: then it is killed, and left
// behind where the kernel does not let it go. When `interrupt` becomes readable (-1: nothing does)
// it is sent SIGINT, once, and has until then to end.
Result<Captured> capture_output(Spawn spawn, std::chrono::milliseconds wait, std::size_t most_bytes,
                                int interrupt = -1);

// This process inherits the orphans of its descendants, so that end_tree can find and reap those
// that left their parent, their group or their session.
Result<> adopt_orphans();

// Every living descendant of a process, from /proc; parents before children. Empty where the
// kernel's /proc does not show them.
std::vector<pid_t> descendants(pid_t pid, const Root& root);

// Ends a process with all its descendants: SIGTERM, then after the grace SIGKILL; reaps what this
// process has as children. How many had to be killed.
std::size_t end_tree(pid_t pid, std::chrono::milliseconds grace, const Root& root,
                     const Clock& clock);

// A child process of this same program that ends with the one that started it, however that one
// goes: what is killed has no time to end its children.

// For Spawn::environment. The child ends once the thread that starts it ends, not only the process.
std::pair<std::string, std::string> tie_to_this_process();

// In the child, before any thread: SIGTERM when its parent goes, if that has not gone before.
// Nothing for what was not tied, nor for what this process starts in its turn.
void end_with_parent();

}  // namespace chokepoint::sys
