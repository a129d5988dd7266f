#include "capture/job/terminal.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "base/sys/root.h"
#include "capture/job/stat_line.h"

namespace chokepoint::capture::job {

Terminal Terminal::controlling() {
  return Terminal(sys::Descriptor(open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)));
}

bool Terminal::is_had_by(pid_t group) const {
  return exists() && tcgetpgrp(descriptor_.get()) == group;
}

bool Terminal::is_ours() const { return is_had_by(getpgrp()); }

void Terminal::give(pid_t group) const {
  if (exists()) {
    tcsetpgrp(descriptor_.get(), group);
  }
}

void Terminal::take_from(pid_t group) const {
  if (is_had_by(group)) {
    tcsetpgrp(descriptor_.get(), getpgrp());
  }
}

bool is_alone_in_group() {
  const sys::Root root;
  const pid_t own = getpid();
  return std::ranges::none_of(pids_below(root, "/proc"), [&](pid_t pid) {
    const std::optional<StatLine> stat = read_stat(root, pid);
    return stat && pid != own && stat->group == getpgrp();
  });
}

}  // namespace chokepoint::capture::job
