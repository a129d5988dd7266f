#include "base/sys/descriptor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/sys/sanitizers.h"

namespace chokepoint::sys {
namespace {

constexpr std::size_t kBeside = 128;  // libraries, name servers, what was inherited

// Old kernels do not know close_range().
void close_between(int first, int end) {
  if (first < end &&
      close_range(static_cast<unsigned>(first), static_cast<unsigned>(end - 1), 0) != 0) {
    for (int number = first; number < end; ++number) {
      ::close(number);
    }
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
  closefrom(next);
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
