#include "base/sys/descriptor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/sys/sanitizers.h"

namespace chokepoint::sys {
namespace {

constexpr std::size_t kBeside = 128;  // libraries, name servers, what was inherited

// How many descriptors this process may have had open; some may be from before its limit was
// lowered, but nobody knows these.
int descriptor_limit() {
  rlimit limit{};
  constexpr rlim_t kMost = 1 << 20;  // as systems have it
  return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? static_cast<int>(std::min(limit.rlim_max, kMost))
                                               : static_cast<int>(kMost);
}

// By number: old C libraries do not know close_range(), and old kernels have no such call. `end`:
// -1 for all that follow.
void close_between(int first, int end) {
  const unsigned last = end < 0 ? ~0U : static_cast<unsigned>(end) - 1;
  if ((end >= 0 && first >= end) ||
      syscall(SYS_close_range, static_cast<unsigned>(first), last, 0) == 0) {
    return;
  }
  const int limit = end < 0 ? descriptor_limit() : end;
  for (int number = first; number < limit; ++number) {
    ::close(number);
  }
}

// Without /dev it is the end of a pipe that nobody writes to.
Descriptor open_nothing() {
  Descriptor nothing(open("/dev/null", O_RDWR | O_CLOEXEC));
  std::array<int, 2> ends{};
  if (!nothing && pipe2(ends.data(), O_CLOEXEC) == 0) {
    nothing.reset(ends[0]);
    ::close(ends[1]);
  }
  return nothing;
}

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

void close_all_but(std::vector<int> kept) {
  std::ranges::sort(kept);
  int next = STDERR_FILENO + 1;
  for (const int descriptor : kept) {
    close_between(next, descriptor);
    next = std::max(next, descriptor + 1);
  }
  close_between(next, -1);
  const Descriptor nothing = open_nothing();
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    const bool is_kept =
        std::ranges::binary_search(kept, stream) || (kIsSanitized && stream == STDERR_FILENO);
    if (!is_kept && stream != nothing.get()) {
      dup2(nothing.get(), stream);
    }
  }
}

int keep_only(int descriptor) {
  constexpr int kKept = 3;
  if (descriptor != kKept) {
    dup3(descriptor, kKept, O_CLOEXEC);
  }
  close_all_but({kKept});
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
