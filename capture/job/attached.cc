#include "capture/job/attached.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <optional>

#include "base/sys/descriptor.h"
#include "capture/job/access.h"
#include "capture/job/process.h"

namespace chokepoint::capture::job {
namespace {

class AttachedProcess final : public Attached {
 public:
  explicit AttachedProcess(sys::Descriptor process) : process_(std::move(process)) {}
  int descriptor() const override { return process_.get(); }
  bool is_over() override { return sys::is_readable(process_.get()); }

 private:
  sys::Descriptor process_;
};

class AttachedCgroup final : public Attached {
 public:
  AttachedCgroup(std::string folder, const sys::Root& root)
      : folder_(std::move(folder)), root_(root) {}
  int descriptor() const override { return -1; }
  bool is_over() override {
    const auto pids = pids_of_cgroup(root_, folder_);
    return !pids || pids->empty();
  }

 private:
  std::string folder_;
  const sys::Root& root_;
};

Result<std::unique_ptr<Attached>> attach_process(pid_t pid, const sys::Root& root) {
  const std::string subject = "process " + std::to_string(pid);
  sys::Descriptor process(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (!process && errno == ESRCH) {
    return fail(ErrorKind::NotFound, "watch", subject, "there is none", "'ps -e' lists them");
  }
  // Newer kernels return ENOENT.
  if (!process && (errno == EINVAL || errno == ENOENT)) {
    return fail(ErrorKind::Usage, "watch", subject, "it is a thread",
                "give the process that it belongs to");
  }
  if (!process && errno == ENOSYS) {
    return fail(ErrorKind::Unsupported, "watch", subject, "Linux before 5.3 has no call for it",
                "start the job under 'chokepoint run', or give its cgroup");
  }
  if (!process) {
    return fail(from_errno(errno, "watch", subject));
  }
  if (std::optional<Error> hidden = hidden_because(pid, root)) {
    return fail(*std::move(hidden));
  }
  return std::make_unique<AttachedProcess>(std::move(process));
}

// Some are better than none: the watch reports which it does not see.
std::optional<Error> all_hidden(const std::string& folder, const sys::Root& root) {
  std::optional<Error> first;
  for (const pid_t pid : pids_of_cgroup(root, folder).value_or(std::vector<pid_t>())) {
    std::optional<Error> hidden = hidden_because(pid, root);
    if (!hidden) {
      return std::nullopt;
    }
    if (!first) {
      first = std::move(hidden);
    }
  }
  return first;
}

Result<std::unique_ptr<Attached>> attach_cgroup(const std::string& name, const sys::Root& root) {
  const std::optional<std::string> folder = find_cgroup(root, name);
  if (!folder) {
    return fail(ErrorKind::NotFound, "watch", "cgroup " + name, "there is none",
                "/proc/PID/cgroup names those of a process");
  }
  auto attached = std::make_unique<AttachedCgroup>(*folder, root);
  if (attached->is_over()) {
    return fail(ErrorKind::NotFound, "watch", "cgroup " + name, "it has no processes",
                "start the job first");
  }
  if (std::optional<Error> hidden = all_hidden(*folder, root)) {
    return fail(*std::move(hidden));
  }
  return attached;
}

}  // namespace

Result<std::unique_ptr<Attached>> Attached::attach(const Selection& selection,
                                                   const sys::Root& root) {
  return selection.pid > 0 ? attach_process(selection.pid, root)
                           : attach_cgroup(selection.cgroup, root);
}

}  // namespace chokepoint::capture::job
