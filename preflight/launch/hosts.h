// An agent for each host, by ssh, srun or mpirun. A host without chokepoint is given a copy where
// the way there carries one, and tried once more:
//
//   waiting ─► starting ─► up ─► ended
//      ▲           │
//      └─ copying ◄┘ absent
//
// So many at a time start or copy; those that are up are waited for no longer.
#pragma once

#include <deque>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/sys/root.h"
#include "preflight/launch/attended.h"
#include "preflight/launch/copy.h"
#include "preflight/launch/told.h"
#include "preflight/launch/way.h"

namespace chokepoint::preflight {

class HostsWork final : public Work {
 public:
  // `own_program` is started on this host itself, and copied to others where that is possible.
  HostsWork(Way way, const LaunchWanted& wanted, std::filesystem::path own_program,
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
    Told told = {};
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

  Way way_;
  LaunchWanted wanted_;
  std::filesystem::path own_program_;
  const sys::Clock& clock_;
  std::optional<Copy> copy_;
  std::vector<Host> hosts_;
  std::deque<std::size_t> waiting_;
  std::size_t under_way_ = 0;
  std::vector<std::string> news_;
};

}  // namespace chokepoint::preflight
