#include "base/sys/descriptor_limit.h"

#include <fmt/format.h>
#include <sys/resource.h>

namespace chokepoint::sys {
namespace {

constexpr std::size_t kBeside = 128;  // libraries, name servers, what was inherited

}  // namespace

void raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
  }
}

Result<> want_descriptors(std::size_t count) {
  raise_descriptor_limit();
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
      limit.rlim_cur >= count + kBeside) {
    return {};
  }
  return fail(ErrorKind::Exhausted, "", fmt::format("{} files and connections", count),
              fmt::format("this process may have only {} open", limit.rlim_cur),
              fmt::format("allow more: 'ulimit -Hn {}' as root, or LimitNOFILE= of its unit",
                          count + kBeside));
}

}  // namespace chokepoint::sys
