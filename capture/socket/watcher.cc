#include "capture/socket/watcher.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "capture/job/access.h"
#include "capture/socket/journal.h"
#include "capture/socket/kernel.h"
#include "capture/socket/network_watch.h"

namespace chokepoint::capture::socket {
namespace {

constexpr std::int64_t kMsNs = 1'000'000;
// What took the time t is repeated after 100 t at the earliest: 1 % of a core.
constexpr std::int64_t kCostFactor = 100;
// Lists of all sockets, by the table "How often" of docs/internals/run-sockets.md: in the first
// kEagerForNs of the watching; for kEagerForNs after a connection came or went.
constexpr std::int64_t kStartIntervalNs = 50 * kMsNs;
constexpr std::int64_t kEagerIntervalNs = 100 * kMsNs;
constexpr std::int64_t kEagerForNs = 2 * kSecondNs;
constexpr std::int64_t kHoldersIntervalNs = 50 * kMsNs;
// Judgements.
constexpr std::int64_t kRetryNs = 10 * kSecondNs;       // after a network could not be entered
constexpr std::int64_t kHoldNetworkNs = 5 * kSecondNs;  // after its last process has ended
constexpr std::size_t kMaxRemarks = 32;
constexpr const char* kOwnNetwork = "/proc/thread-self/ns/net";

auto identity_of(const job::JobProcess& process) {
  return std::tie(process.pid, process.start_ticks, process.rank.rank, process.record_id,
                  process.network);
}

bool are_same(const job::JobProcesses& one, const job::JobProcesses& other) {
  return std::ranges::equal(one, other, {}, identity_of, identity_of);
}

// Over as many network namespaces as the job's processes are in. It measures its own cost: lists of
// all sockets, or of all open files, are read so rarely that each takes at most 1 % of a core.
class LiveWatcher final : public Watcher {
 public:
  LiveWatcher(const Options& options, sys::Root root, const sys::Clock& clock,
              record::Writer& writer, FlowRegistry& registry, Means means)
      : options_(options),
        root_(std::move(root)),
        clock_(clock),
        producer_(writer.producer("sockets")),
        registry_(registry),
        means_(std::move(means)),
        began_ns_(clock.monotonic_ns()),
        budget_(options.most_samples_per_s),
        holders_(root_),
        own_network_(job::network_at(root_, kOwnNetwork)) {}

  // Opens the program's own network namespace; an error means that nothing can be watched.
  Result<> open_own() { return open({}, began_ns_); }

  std::int64_t tick(const job::JobProcesses& processes) override {
    const std::int64_t now_ns = clock_.monotonic_ns();
    has_grown_ = follow(processes) || has_grown_;
    follow_networks(processes, now_ns);
    take_destroyed(now_ns);
    dump_where_due(now_ns);
    if ((has_grown_ || needs_holders()) && now_ns >= next_holders_ns_) {
      assign(now_ns);
    }
    sample(now_ns);
    publish(now_ns);
    return next_ns(now_ns);
  }

  void finish(const job::JobProcesses& processes) override {
    const std::int64_t now_ns = clock_.monotonic_ns();
    has_grown_ = follow(processes) || has_grown_;
    take_destroyed(now_ns);
    for (auto& [inode, watched] : networks_) {
      dump(watched, now_ns);
    }
    assign(now_ns);
    for (auto& [inode, watched] : networks_) {
      remark(watched.network->sample_all(now_ns));
    }
    take_destroyed(now_ns);
    publish(now_ns);
  }

  Figures figures() const override {
    const std::lock_guard guard(mutex_);
    return figures_;
  }

 private:
  struct Watched {
    std::unique_ptr<NetworkWatch> network;
    std::int64_t next_dump_ns = 0;
    std::int64_t seen_ns = 0;  // when the job last had a process there
    pid_t pid = 0;             // the first of the job's processes there
  };

  Result<> open(const Network& network, std::int64_t now_ns) {
    TRY(std::unique_ptr<Kernel> kernel, means_.open(network));
    Journal journal(network.inode, producer_, registry_, account_);
    Watched& watched = networks_[network.inode];
    watched.network = std::make_unique<NetworkWatch>(std::move(kernel), journal,
                                                     options_.busy_interval_ns, began_ns_);
    watched.seen_ns = now_ns;
    watched.pid = network.pid;
    return {};
  }

  // True if the job's processes changed.
  bool follow(const job::JobProcesses& processes) {
    if (are_same(processes, processes_)) {
      return false;
    }
    processes_ = processes;
    return true;
  }

  void follow_networks(const job::JobProcesses& processes, std::int64_t now_ns) {
    for (const job::JobProcess& process : processes) {
      const std::uint64_t inode = process.network == own_network_ ? 0 : process.network;
      if (const auto known = networks_.find(inode); known != networks_.end()) {
        // The first of its processes in this round.
        if (std::exchange(known->second.seen_ns, now_ns) != now_ns) {
          known->second.pid = process.pid;
        }
        continue;
      }
      const auto refused = refused_until_ns_.find(inode);
      if (refused != refused_until_ns_.end() && now_ns < refused->second) {
        continue;
      }
      if (const Result<> opened = open({.inode = inode, .pid = process.pid}, now_ns); !opened) {
        refused_until_ns_[inode] = now_ns + kRetryNs;
        remark(opened);
      }
    }
    std::erase_if(networks_, [&](const auto& known) {
      return known.first != 0 && !known.second.network->has_connections() &&
             now_ns - known.second.seen_ns > kHoldNetworkNs;
    });
  }

  void take_destroyed(std::int64_t now_ns) {
    for (auto& [inode, watched] : networks_) {
      remark(watched.network->take_destroyed(now_ns));
    }
  }

  void dump_where_due(std::int64_t now_ns) {
    for (auto& [inode, watched] : networks_) {
      if (now_ns >= watched.next_dump_ns) {
        dump(watched, now_ns);
      }
    }
  }

  void dump(Watched& watched, std::int64_t now_ns) {
    const std::int64_t before_ns = means_.cpu_ns();
    const Result<> done = watched.network->dump(now_ns);
    const std::int64_t cost_ns = means_.cpu_ns() - before_ns;
    remark(done);
    if (watched.network->is_full()) {
      remark(fmt::format("more than {} sockets: the others are not watched",
                         NetworkWatch::kMaxSockets));
    }
    const std::int64_t interval_ns =
        done ? calm_interval_ns(watched, now_ns) : std::max(kRetryNs, options_.idle_interval_ns);
    watched.next_dump_ns = now_ns + std::max(interval_ns, cost_ns * kCostFactor);
  }

  void assign(std::int64_t now_ns) {
    const std::int64_t before_ns = means_.cpu_ns();
    holders_.read(processes_);
    for (auto& [inode, watched] : networks_) {
      watched.network->assign(holders_, has_grown_, now_ns);
    }
    const std::int64_t cost_ns = means_.cpu_ns() - before_ns;
    has_grown_ = false;
    next_holders_ns_ = now_ns + std::max(kHoldersIntervalNs, cost_ns * kCostFactor);
    note_hidden();
  }

  // Once: others would mostly be hidden for the same reason.
  void note_hidden() {
    if (holders_.hidden() == 0 || has_noted_hidden_) {
      return;
    }
    if (auto why = job::hidden_because(holders_.hidden(), root_)) {
      has_noted_hidden_ = true;
      why->operation.clear();
      remark(
          fmt::format("not all of the job's open files can be read, so connections are "
                      "attributed by ports and addresses alone: {}",
                      describe(*why)));
    }
  }

  // Each network is the first in its turn, because the budget may end before the last.
  void sample(std::int64_t now_ns) {
    budget_.refill(now_ns);
    sampled_ns_ = now_ns;
    std::vector<NetworkWatch*> all;
    for (auto& [inode, watched] : networks_) {
      all.push_back(watched.network.get());
    }
    std::ranges::rotate(all, all.begin() + static_cast<std::ptrdiff_t>(turn_++ % all.size()));
    for (NetworkWatch* network : all) {
      remark(network->sample(now_ns, budget_));
    }
  }

  bool needs_holders() const {
    return std::ranges::any_of(
        networks_, [](const auto& known) { return known.second.network->needs_holders(); });
  }

  std::int64_t calm_interval_ns(const Watched& watched, std::int64_t now_ns) const {
    if (now_ns - began_ns_ < kEagerForNs) {
      return kStartIntervalNs;
    }
    return now_ns - watched.network->changed_ns() < kEagerForNs
               ? kEagerIntervalNs
               : std::max(kEagerIntervalNs, options_.idle_interval_ns / 4);
  }

  std::int64_t next_ns(std::int64_t now_ns) const {
    std::int64_t next_ns = now_ns + kSecondNs / 4;
    for (const auto& [inode, watched] : networks_) {
      next_ns = std::min(next_ns, watched.next_dump_ns);
      if (const auto sample_ns = watched.network->next_sample_ns()) {
        next_ns = std::min(next_ns, std::max(*sample_ns, sampled_ns_ + options_.busy_interval_ns));
      }
    }
    if (has_grown_ || needs_holders()) {
      next_ns = std::min(next_ns, next_holders_ns_);
    }
    return std::max(next_ns, now_ns + kMsNs);
  }

  void remark(const Result<>& done) {
    if (!done) {
      remark(describe(done.error()));
    }
  }

  void remark(std::string text) {
    if (remarks_.size() < kMaxRemarks) {
      remarks_.insert(std::move(text));
    }
  }

  std::vector<std::string> remarks() const {
    std::vector<std::string> all(remarks_.begin(), remarks_.end());
    if (std::string judgements = account_.judgements(); !judgements.empty()) {
      all.push_back(std::move(judgements));
    }
    return all;
  }

  void publish(std::int64_t now_ns) {
    account_.roll(now_ns);
    std::vector<std::string> all = remarks();
    const std::lock_guard guard(mutex_);
    account_.report(figures_);
    name_processes(figures_.peers);
    figures_.remarks = std::move(all);
  }

  // Sets the process through which each peer's network can be entered now.
  void name_processes(std::vector<Peer>& peers) const {
    if (networks_.size() == 1) {
      return;
    }
    for (Peer& peer : peers) {
      const auto known = networks_.find(peer.network);
      peer.pid = peer.network == 0 || known == networks_.end() ? 0 : known->second.pid;
    }
  }

  const Options options_;
  const sys::Root root_;
  const sys::Clock& clock_;
  record::Producer producer_;
  FlowRegistry& registry_;
  const Means means_;
  const std::int64_t began_ns_;

  Account account_;
  Budget budget_;
  Holders holders_;
  std::uint64_t own_network_ = 0;  // its inode
  std::map<std::uint64_t, Watched> networks_;
  std::map<std::uint64_t, std::int64_t> refused_until_ns_;
  std::size_t turn_ = 0;

  job::JobProcesses processes_;
  bool has_grown_ = false;
  std::int64_t next_holders_ns_ = 0;
  std::int64_t sampled_ns_ = 0;
  std::set<std::string> remarks_;
  bool has_noted_hidden_ = false;

  mutable std::mutex mutex_;
  Figures figures_;
};

}  // namespace

Result<std::unique_ptr<Watcher>> make_watcher(const Options& options, sys::Root root,
                                              const sys::Clock& clock, record::Writer& writer,
                                              FlowRegistry& registry, Means means) {
  auto watcher = std::make_unique<LiveWatcher>(options, std::move(root), clock, writer, registry,
                                               std::move(means));
  TRY(watcher->open_own());
  return watcher;
}

Result<std::unique_ptr<Watcher>> Watcher::make(const Options& options, sys::Root root,
                                               const sys::Clock& clock, record::Writer& writer,
                                               FlowRegistry& registry) {
  Means means{.open = [root](const Network& network) { return open_kernel(root, network); },
              .cpu_ns = sys::thread_cpu_ns};
  return make_watcher(options, std::move(root), clock, writer, registry, std::move(means));
}

}  // namespace chokepoint::capture::socket
