#include "capture/source/network_namespace.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>

#include <cerrno>
#include <thread>
#include <utility>

#include "base/sys/descriptor.h"
#include "base/sys/root.h"

namespace chokepoint::capture::source {
namespace {

constexpr const char* kNamed = "/run/netns";

std::string names_there() {
  std::string names;
  for (const std::string& name : sys::Root().list(kNamed)) {
    names += (names.empty() ? "there are " : ", ") + name;
  }
  return names.empty() ? "'ip netns add NAME' makes one" : names;
}

Error refused(const std::string& netns) {
  Error error = from_errno(errno, "enter network namespace", netns);
  if (error.kind == ErrorKind::Permission) {
    error.next_step =
        "run as root, or once: sudo setcap cap_net_raw,cap_sys_admin+ep "
        "\"$(which chokepoint)\"";
  }
  return error;
}

// What `ip netns exec` does: /sys shows the namespace of whoever mounted it. Busy: it is the right
// one already.
Result<> enter(int descriptor, const std::string& netns) {
  const bool entered = setns(descriptor, CLONE_NEWNET) == 0 && unshare(CLONE_NEWNS) == 0 &&
                       mount("", "/", nullptr, MS_REC | MS_SLAVE, nullptr) == 0 &&
                       (mount("sysfs", "/sys", "sysfs", 0, nullptr) == 0 || errno == EBUSY);
  return entered ? Result<>{} : fail(refused(netns));
}

}  // namespace

Result<> inside_namespace(const std::string& netns, const std::function<void()>& work) {
  const bool is_path = netns.find('/') != std::string::npos;
  const std::string path = is_path ? netns : std::string(kNamed) + "/" + netns;
  const sys::Descriptor descriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!descriptor) {
    Error error = from_errno(errno, "enter network namespace", netns);
    error.next_step = names_there();
    return fail(std::move(error));
  }
  Result<> entered;
  std::thread([&] {
    entered = enter(descriptor.get(), netns);
    if (entered) {
      work();
    }
  }).join();
  return entered;
}

}  // namespace chokepoint::capture::source
