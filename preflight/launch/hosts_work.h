// An agent for each host, by ssh, srun or mpirun. A host without chokepoint gets a copy if the
// launch method can transfer one, and is tried once more:
//
//   waiting ─► starting ─► up ─► ended
//      ▲           │
//      └─ copying ◄┘ absent
//
// A bounded number of them start or copy at a time; those that are up do not count.
#pragma once

#include <cstddef>
#include <deque>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/sys/clock.h"
#include "base/sys/error.h"
#include "base/sys/root.h"
#include "preflight/launch/launch.h"
#include "preflight/launch/launch_method.h"
#include "preflight/launch/launch_thread.h"
#include "preflight/launch/launcher_output.h"

namespace chokepoint::preflight {

class HostsWork final : public Work {
 public:
  // `own_program` is started on this host itself, and copied to others where that is possible.
  HostsWork(LaunchMethod method, const LaunchWanted& wanted, std::filesystem::path own_program,
            const sys::Clock& clock, const sys::Root& root);

  void begin(Children& children) override;
  void printed(Children::Who who, std::string_view line) override;
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

  LaunchMethod method_;
  LaunchWanted wanted_;
  std::filesystem::path own_program_;
  const sys::Clock& clock_;
  std::optional<Copy> copy_;
  std::vector<Host> hosts_;
  std::deque<std::size_t> waiting_;
  std::size_t running_ = 0;
  std::vector<std::string> news_;
};

}  // namespace chokepoint::preflight
