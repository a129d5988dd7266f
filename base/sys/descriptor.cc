#include "base/sys/descriptor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/sys/sanitizers.h"

namespace chokepoint::sys {
namespace {

constexpr std::size_t kBeside = 128;  // libraries, name servers, what was inherited

}  // namespace

bool is_readable(int descriptor) {
  pollfd watched{.fd = descriptor, .events = POLLIN, .revents = 0};
  return poll(&watched, 1, 0) > 0;
}

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

int keep_only(int descriptor) {
  constexpr int kClear = 16;
  constexpr int kKept = 3;
  const int copy = fcntl(descriptor, F_DUPFD_CLOEXEC, kClear);
  dup3(copy, kKept, O_CLOEXEC);
  closefrom(kKept + 1);
  const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  dup2(nothing, STDIN_FILENO);
  dup2(nothing, STDOUT_FILENO);
  if (!kIsSanitized) {
    dup2(nothing, STDERR_FILENO);
  }
  ::close(nothing);
  return kKept;
}

Result<Pipe> open_pipe(std::string_view operation, std::string_view subject) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    return fail(from_errno(errno, operation, subject));
  }
  return Pipe{Descriptor(ends[0]), Descriptor(ends[1])};
}

}  // namespace chokepoint::sys
