// The processes of the watched job, found anew whenever somebody looks: all descendants of the
// command, also those that left their parent, or one given process and its descendants, or whoever
// is in a cgroup and those below it. Each gets a row in the run record when it comes, and its end
// when it goes. refresh() by one thread at a time, processes() by any.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/record/writer.h"
#include "base/sys/process.h"
#include "base/sys/root.h"
#include "capture/job/kinship.h"
#include "capture/job/member.h"
#include "capture/job/process.h"
#include "capture/job/selection.h"

namespace chokepoint::capture::job {

class Roster {
 public:
  // The writer may be null; it outlives the roster.
  Roster(sys::Root root, Selection selection, record::Writer* writer);

  void refresh(std::int64_t now_ns);
  // How the process that was selected by its pid ended. Beside refresh(), not during it.
  void note_end(const sys::ExitStatus& status, std::int64_t now_ns);
  // Never null. A snapshot of the last refresh.
  std::shared_ptr<const JobProcesses> processes() const;

 private:
  using Members = std::map<pid_t, Member>;

  void look_after_members(std::int64_t now_ns);
  void admit(const std::vector<pid_t>& pids);
  std::vector<pid_t> find_new(std::int64_t now_ns);
  void end(Member& member, const std::optional<StatLine>& stat, std::int64_t now_ns);
  void give_ranks();
  void keep(Member& member, std::optional<std::int64_t> end_ns);
  void publish();

  sys::Root root_;
  Selection selection_;
  record::Writer* writer_;
  Kinship kinship_;
  std::optional<std::string> cgroup_ = {};  // its folder
  std::optional<std::int64_t> uptime_lead_ns_ = {};
  Members members_;
  mutable std::mutex mutex_;  // processes_
  std::shared_ptr<const JobProcesses> processes_;
};

}  // namespace chokepoint::capture::job
