// The Watcher over as many network namespaces as the job's processes are in. What it may cost is
// measured as it goes: a list of all sockets, or of all open files, is asked for so seldom that it
// takes 1 % of a core.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "capture/socket/account.h"
#include "capture/socket/network_watch.h"
#include "capture/socket/watcher.h"

namespace chokepoint::capture::socket {

// What tests put in the place of the kernel and of the thread's own clock.
struct Means {
  OpenKernel open = {};
  std::function<std::int64_t()> cpu_ns = {};  // that the calling thread has used
};

class LiveWatcher final : public Watcher {
 public:
  // Root's, for the program's own network namespace.
  LiveWatcher(const Options& options, sys::Root root, const sys::Clock& clock,
              record::Writer& writer, book::FlowBook& book, Means means);

  // The first of them: an error is why nothing can be had.
  Result<> open_own();

  std::int64_t tick(const job::JobProcesses& processes) override;
  void finish(const job::JobProcesses& processes) override;
  Figures figures() const override;

 private:
  struct Watched {
    std::unique_ptr<NetworkWatch> network;
    std::int64_t next_dump_ns = 0;
    std::int64_t seen_ns = 0;  // the job had a process there
    pid_t pid = 0;             // the first of those that are there
  };

  Result<> open(const Network& network, std::int64_t now_ns);
  // True where the job is not what it was.
  bool follow(const job::JobProcesses& processes);
  void follow_networks(const job::JobProcesses& processes, std::int64_t now_ns);
  void take_destroyed(std::int64_t now_ns);
  void dump_where_due(std::int64_t now_ns);
  void dump(Watched& watched, std::int64_t now_ns);
  void assign(std::int64_t now_ns);
  void look(std::int64_t now_ns);
  bool wants_holders() const;
  std::int64_t calm_interval_ns(const Watched& watched, std::int64_t now_ns) const;
  std::int64_t next_ns(std::int64_t now_ns) const;

  void remark(const Result<>& done);
  void remark(std::string text);
  std::vector<std::string> remarks() const;
  void publish(std::int64_t now_ns);
  void name_processes(std::vector<Peer>& peers) const;

  const Options options_;
  const sys::Root root_;
  const sys::Clock& clock_;
  record::Producer producer_;
  book::FlowBook& book_;
  const Means means_;
  const std::int64_t began_ns_;

  Account account_;
  Budget budget_;
  Holders holders_;
  std::uint64_t own_network_ = 0;  // its inode
  std::map<std::uint64_t, Watched> networks_;
  std::map<std::uint64_t, std::int64_t> closed_to_us_;  // when to try again
  std::size_t turn_ = 0;

  job::JobProcesses processes_;
  bool has_grown_ = false;
  std::int64_t next_holders_ns_ = 0;
  std::int64_t looked_ns_ = 0;
  std::set<std::string> remarks_;

  mutable std::mutex mutex_;
  Figures figures_;
};

}  // namespace chokepoint::capture::socket
