#include "base/sys/parent.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdlib>

namespace chokepoint::sys {
namespace {

constexpr const char* kVariable = "CHOKEPOINT_PARENT";

}  // namespace

std::pair<std::string, std::string> tie_to_this_process() {
  return {kVariable, std::to_string(getpid())};
}

void end_with_parent() {
  const char* parent = std::getenv(kVariable);
  if (parent == nullptr) {
    return;
  }
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  // It may have gone before the kernel was asked.
  if (std::to_string(getppid()) != parent) {
    raise(SIGTERM);
  }
  unsetenv(kVariable);
}

}  // namespace chokepoint::sys
