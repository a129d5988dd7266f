// How agents are started on hosts (launch.h is for callers): LaunchThread owns a thread, the
// children, and the work that decides which of them to start; HostsWork is that work.
#pragma once

#include <cstddef>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/host/network.h"
#include "base/sys/child_output.h"
#include "base/sys/clock.h"
#include "base/sys/descriptor.h"
#include "base/sys/error.h"
#include "base/sys/process.h"
#include "base/sys/root.h"
#include "preflight/launch/launch.h"
#include "preflight/launch/launch_method.h"

namespace chokepoint::preflight {

// Child processes, each with a pipe to its standard input: a child reads its first line from there,
// and has to end when the pipe is closed. What it prints, on either stream, is returned in lines.
// Owns the processes; one thread.
class Children {
 public:
  using Who = std::size_t;
  struct Listener {
    std::function<void(Who, std::string_view line)> said;
    // It is no longer among the children, and may be started again.
    std::function<void(Who, const sys::ExitStatus&)> ended;
  };

  Children() = default;
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;

  // With a pipe as its standard input, which has this line in it and stays open.
  Result<> start_held(Who who, sys::Spawn spawn, const std::string& first_line);
  // With the standard input that is given.
  Result<> start(Who who, sys::Spawn spawn);

  // Until one of them has said something or ended, one of `others` is readable, or the time is
  // over; then the listener is told all there is.
  void poll(const std::vector<int>& others, int timeout_ms, const Listener& listener);

  // Lets all go, and after the grace ends those that are still there: by SIGTERM, then by SIGKILL.
  void end_all(int grace_ms, const sys::Clock& clock);

 private:
  struct Child {
    sys::ChildOutput output;
    sys::Descriptor input;
    std::string unfinished = {};  // line
  };

  Result<> add(Who who, sys::Spawn spawn, sys::Descriptor held);
  std::vector<Who> await(const std::vector<int>& others, int timeout_ms) const;
  void look_at(Who who, const Listener& listener);
  bool await_ends(int timeout_ms, const sys::Clock& clock);
  void signal_all(int number) const;

  std::map<Who, Child> children_;
};

// A way to start agents. Never called by two threads at once.
class Work {
 public:
  virtual ~Work() = default;
  // Starts what may be started by now; called again and again.
  virtual void begin(Children& children) = 0;
  virtual void said(Children::Who who, std::string_view line) = 0;
  virtual void ended(Children::Who who, const sys::ExitStatus& status) = 0;
  virtual std::optional<Error> trouble(std::size_t host) = 0;
  // Progress in words that was not told yet.
  virtual std::vector<std::string> news() { return {}; }
};

// A launch with a thread that attends to it: it starts the children, reads what they print, and
// ends all of them in the destructor. The work is called under one lock, because trouble() comes
// from the caller's thread; that thread alone passes progress on.
class LaunchThread final : public Launch {
 public:
  static Result<std::unique_ptr<Launch>> start(std::unique_ptr<Work> work,
                                               const LaunchWanted& wanted, const sys::Clock& clock);
  LaunchThread(std::unique_ptr<Work> work, const LaunchWanted& wanted, const sys::Clock& clock,
               sys::Descriptor stop);
  LaunchThread(const LaunchThread&) = delete;
  LaunchThread& operator=(const LaunchThread&) = delete;
  ~LaunchThread() override;

  std::optional<Error> trouble(std::size_t host) override;

 private:
  void run();

  std::unique_ptr<Work> work_;
  std::function<void(const std::string&)> tell_;
  int interrupt_;
  const sys::Clock& clock_;
  sys::Descriptor stop_;
  std::mutex mutex_;
  std::thread thread_;
};

// What a program printed before it ended, and the line of it that gives the reason.
class LauncherOutput {
 public:
  void add(std::string_view line);
  // No agent comes after these words, though who said them has not ended yet.
  bool is_over() const;

  // `program` is who was started here: "ssh", "srun". Known words first, with a next step, then
  // chokepoint's; else the last of ssh's, whose hosts greet, and the first of others, who explain
  // at length. The exit status where nothing was said.
  Error why(std::string_view program, const std::string& host, const sys::ExitStatus& status) const;

 private:
  std::string first_;
  std::string last_;
  std::string known_;
  std::string own_;  // the last of a chokepoint's
};

// An agent for each host, by ssh, srun or mpirun. A host without chokepoint gets a copy if the way
// there can carry one, and is tried once more:
//
//   waiting ─► starting ─► up ─► ended
//      ▲           │
//      └─ copying ◄┘ absent
//
// A bounded number of them start or copy at a time; those that are up do not count.
class HostsWork final : public Work {
 public:
  // `own_program` is started on this host itself, and copied to others where that is possible.
  HostsWork(LaunchMethod method, const LaunchWanted& wanted, std::filesystem::path own_program,
            const sys::Clock& clock, const sys::Root& root);

  void begin(Children& children) override;
  void said(Children::Who who, std::string_view line) override;
  void ended(Children::Who who, const sys::ExitStatus& status) override;
  std::optional<Error> trouble(std::size_t host) override { return hosts_[host].trouble; }
  std::vector<std::string> news() override { return std::exchange(news_, {}); }

 private:
  enum class Stage { Waiting, Starting, Up, Copying, Ended };
  struct Host {
    std::string name;
    bool is_here = false;
    Stage stage = Stage::Waiting;
    std::int64_t began_ns = 0;
    bool is_absent = false;  // no chokepoint there, and the copy is next
    bool is_copied = false;
    std::string machine = {};  // "Linux x86_64", where chokepoint is absent
    LauncherOutput output = {};
    std::optional<Error> trouble = {};
  };

  Words programs() const;
  Result<> start(std::size_t number, Children& children);
  Result<> start_agent(std::size_t number, Children& children);
  Result<> start_copy(std::size_t number, Children& children);
  void give_up_slow_ones();
  void found_absent(std::size_t number);
  Error absent(const Host& host) const;
  void wait_again(std::size_t number);
  static void end(Host& host, Error why);

  LaunchMethod way_;
  LaunchWanted wanted_;
  std::filesystem::path own_program_;
  const sys::Clock& clock_;
  std::optional<Copy> copy_;
  std::vector<Host> hosts_;
  std::deque<std::size_t> waiting_;
  std::size_t under_way_ = 0;
  std::vector<std::string> news_;
};

// Names for ssh, srun and mpirun: none may look like an option or have letters that a shell, which
// ssh's own settings may call, would take for more than a name.
Result<> check_names(const std::vector<std::string>& hosts);

// This host by its name, short or in full, or by an address of its own.
bool is_this_host(const std::string& name, const std::string& own_name,
                  const host::Addresses& own_addresses);

}  // namespace chokepoint::preflight
