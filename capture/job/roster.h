// The processes of the watched job, searched by each refresh(): all descendants of the command
// (also those that left their parent), or one given process and its descendants, or the processes
// in a cgroup and in those below it. Each gets a row in the run record when it is found, and its
// end time when it ends. refresh() by one thread at a time, processes() by any.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/host/launcher.h"
#include "base/record/writer.h"
#include "base/sys/process.h"
#include "base/sys/root.h"
#include "capture/job/process.h"

namespace chokepoint::capture::job {

// One process of the job. What belongs to the program it runs (command, rank, network) is read
// again only after an exec().
struct Member {
  JobProcess process = {};
  host::RankFound rank = {};
  StatLine stat = {};               // as last seen
  bool lacks_command_line = false;  // when it was last read
  bool keeps_secrets = false;       // in its command line
  bool is_over = false;
  std::optional<int> exit_code = {};  // as shells give it
};

class DescendantSearch;

class Roster {
 public:
  // The writer may be null; it outlives the roster. Secrets in command lines are masked unless they
  // are to be kept.
  Roster(sys::Root root, Selection selection, record::Writer* writer, bool keeps_secrets = false);
  ~Roster();

  void refresh(std::int64_t now_ns);
  // How the process that was selected by its pid ended. Not during refresh().
  void note_end(const sys::ExitStatus& status, std::int64_t now_ns);
  // A snapshot of the last refresh; never null.
  std::shared_ptr<const JobProcesses> processes() const;

 private:
  using Members = std::map<pid_t, Member>;

  void update_members(std::int64_t now_ns);
  void admit(const std::vector<pid_t>& pids);
  std::vector<pid_t> find_new(std::int64_t now_ns);
  void end(Member& member, const std::optional<StatLine>& stat, std::int64_t now_ns);
  void give_ranks();
  void write(Member& member, std::optional<std::int64_t> end_ns);
  void record_steering(const Member& member);
  void publish();

  sys::Root root_;
  Selection selection_;
  record::Writer* writer_;
  bool keeps_secrets_;
  std::unique_ptr<DescendantSearch> descendants_;
  std::optional<std::string> cgroup_ = {};  // its folder
  std::optional<std::int64_t> uptime_lead_ns_ = {};
  Members members_;
  bool has_steering_ = false;  // in the record
  mutable std::mutex mutex_;   // processes_
  std::shared_ptr<const JobProcesses> processes_;
};

}  // namespace chokepoint::capture::job
