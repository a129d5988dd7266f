// NCCL's collectives in a watched job: makes NCCL load this program's profiler plugin, and records
// what the plugin writes. A job that runs already cannot get a plugin.
//
//   environment() ─▶ (the job starts) ─▶ begin() ─▶ … ─▶ end()
//
// begin() and end() by one thread; a thread of its own writes rows to the record and passes them
// to Listeners::collective. Once a second it passes the
// newest collective of each kind of each process to Listeners::enqueued. remarks() names what
// cannot be seen, requested_events() the events that NCCL is asked for.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/record/writer.h"
#include "base/sys/clock.h"
#include "base/sys/root.h"
#include "capture/job/process.h"
#include "capture/nccl/folder.h"
#include "capture/nccl/reader.h"
#include "capture/nccl/ring/layout.h"
#include "capture/run/options.h"
#include "capture/run/ticker.h"

namespace chokepoint::capture::run {

inline constexpr const char* kPlugin = nccl::kPluginFile;

class Nccl {
 public:
  struct Listeners {
    std::function<void(const record::Collective& row)> collective;
    nccl::Reader::OnEnqueued enqueued;
    nccl::Reader::OnTag tag;
  };
  using Processes = std::function<std::shared_ptr<const job::JobProcesses>()>;

  // `plugin`: its path; nullopt if there is none. Clock and writer outlive it.
  Nccl(const Options& options, const std::optional<std::filesystem::path>& plugin,
       const sys::Root& root, const sys::Clock& clock, record::Writer& writer, Listeners listeners);
  ~Nccl();

  std::vector<std::pair<std::string, std::string>> environment() const;
  void begin(Processes processes);
  void end();
  std::vector<std::string> remarks() const;
  // "2.28.9: …", a line for each version of NCCL in the job.
  std::vector<std::string> requested_events() const;

 private:
  struct OwnerSearch {
    pid_t pid = 0;  // found
    std::int64_t again_ns = 0;
  };

  std::int64_t sample();
  std::optional<nccl::Reader::Owner> find_owner(const job::JobProcesses& processes,
                                                std::uint64_t own_pid, std::uint64_t inode);
  void keep(const record::Collective& row);
  void report_choice(const nccl::Choice& choice);
  void add_remark(std::string remark);
  void record_losses(const nccl::Figures& figures);
  void record_loss(const std::string& reason, std::uint64_t rows);

  const sys::Root root_;
  const sys::Clock& clock_;
  record::Writer& writer_;
  Listeners listeners_;
  std::int64_t enqueued_ns_ = 0;  // when Listeners::enqueued was called
  std::filesystem::path plugin_;
  std::string next_;  // the profiler that the job's environment names
  std::optional<nccl::Folder> folder_;
  std::optional<record::Producer> producer_;
  std::unique_ptr<nccl::Reader> reader_;
  std::int64_t began_ns_ = 0;
  bool is_over_ = false;
  int pauses_ = 0;                               // left, while the writer has no room
  std::map<std::uint64_t, OwnerSearch> owners_;  // by the inode of a file of rings
  std::set<std::uint64_t> reported_choices_;     // choices
  mutable std::mutex mutex_;                     // remarks_, requested_events_
  std::vector<std::string> remarks_;
  std::vector<std::string> requested_events_;
  std::unique_ptr<Ticker> ticker_;
};

}  // namespace chokepoint::capture::run
