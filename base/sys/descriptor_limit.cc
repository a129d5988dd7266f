#include "base/sys/descriptor_limit.h"

#include <sys/resource.h>

namespace chokepoint::sys {

void raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
  }
}

}  // namespace chokepoint::sys
