// One process of the job as the roster keeps it, and how it is read. What belongs to the program it
// runs (command, rank, network) is read again only after an exec().
#pragma once

#include <cstdint>
#include <optional>

#include "base/host/launcher.h"
#include "base/record/entities.h"
#include "base/sys/root.h"
#include "capture/job/process.h"
#include "capture/job/stat_line.h"

namespace chokepoint::capture::job {

struct Member {
  JobProcess process = {};
  host::RankFound rank = {};
  StatLine stat = {};  // as last seen
  bool is_over = false;
  std::optional<int> exit_code = {};  // as shells say it
};

// `uptime_lead_ns`: how far the kernel's time since boot, which starts are told in, is ahead of the
// monotonic clock.
Member read_member(const sys::Root& root, pid_t pid, const StatLine& stat,
                   std::int64_t uptime_lead_ns);
// True where anything changed.
bool update_member(const sys::Root& root, const StatLine& stat, Member& member);
// Gone where there is no stat, or another process's. The exit code where the kernel tells it.
void end_member(const std::optional<StatLine>& stat, Member& member);

std::int64_t read_uptime_lead(const sys::Root& root, std::int64_t now_ns);

record::Process row_of(const Member& member, std::optional<std::int64_t> end_ns);

}  // namespace chokepoint::capture::job
