#include "probe/peer/waiting_room.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>

namespace chokepoint::probe::peer {

Result<std::unique_ptr<WaitingRoom>> WaitingRoom::make(std::size_t most) {
  sys::Descriptor bell(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!bell) {
    return fail(from_errno(errno, "prepare", "waiting room"));
  }
  return std::unique_ptr<WaitingRoom>(new WaitingRoom(most, std::move(bell)));
}

bool WaitingRoom::enter(Visitor& visitor) {
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.size() >= most_) {
      return false;
    }
    waiting_.push_back(std::move(visitor));
  }
  const std::uint64_t one = 1;
  static_cast<void>(write(bell_.get(), &one, sizeof(one)));
  return true;
}

Result<Visitor> WaitingRoom::next(const net::Patience& patience) {
  while (true) {
    {
      const std::lock_guard lock(mutex_);
      std::uint64_t rung = 0;
      static_cast<void>(read(bell_.get(), &rung, sizeof(rung)));
      if (!waiting_.empty()) {
        Visitor first = std::move(waiting_.front());
        waiting_.pop_front();
        return first;
      }
    }
    TRY(net::wait_for(bell_.get(), POLLIN, patience, "wait for", "a client"));
  }
}

void WaitingRoom::clear() {
  const std::lock_guard lock(mutex_);
  waiting_.clear();
}

}  // namespace chokepoint::probe::peer
