#include "base/net/deadline.h"

#include <poll.h>

#include <array>
#include <cerrno>
#include <ctime>

namespace chokepoint::net {
namespace {

timespec left(const Deadline& deadline) {
  using std::chrono::nanoseconds;
  const nanoseconds wait =
      std::max(nanoseconds(deadline.until - Deadline::Clock::now()), nanoseconds(0));
  return {.tv_sec = static_cast<time_t>(wait.count() / 1'000'000'000),
          .tv_nsec = static_cast<long>(wait.count() % 1'000'000'000)};
}

}  // namespace

Result<> wait_for(int fd, short events, const Deadline& deadline, std::string_view operation,
                  std::string_view subject) {
  std::array<pollfd, 2> watched{pollfd{fd, events, 0}, pollfd{deadline.interrupt, POLLIN, 0}};
  while (true) {
    const timespec wait = left(deadline);
    const int ready = ppoll(watched.data(), watched.size(), &wait, nullptr);
    if (ready < 0 && errno != EINTR) {
      return fail(from_errno(errno, operation, subject));
    }
    if (watched[1].revents != 0) {
      return fail(ErrorKind::Interrupted, operation, subject, "interrupted");
    }
    if (watched[0].revents != 0) {
      return {};
    }
    if (ready == 0 && deadline.over()) {
      return fail(ErrorKind::Timeout, operation, subject, "no answer in time");
    }
  }
}

}  // namespace chokepoint::net
