#include "probe/peer/acceptor.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/net/socket.h"

namespace chokepoint::probe::peer {
namespace {

using net::Deadline;

constexpr std::chrono::milliseconds kLookForLate{500};
// Without descriptors left accept() fails at once, again and again: wait before the next attempt.
constexpr std::chrono::milliseconds kRest{50};

std::vector<pollfd> watched(int stop, const std::vector<sys::Descriptor>& listeners,
                            const std::vector<Visitor>& visitors) {
  std::vector<pollfd> all{{stop, POLLIN, 0}};
  for (const sys::Descriptor& listener : listeners) {
    all.push_back({listener.get(), POLLIN, 0});
  }
  for (const Visitor& visitor : visitors) {
    all.push_back({visitor.fd.get(), POLLIN, 0});
  }
  return all;
}

}  // namespace

Result<> Acceptor::run(int stop) {
  while (true) {
    std::vector<pollfd> all = watched(stop, listeners_, visitors_);
    if (poll(all.data(), all.size(), static_cast<int>(kLookForLate.count())) < 0 &&
        errno != EINTR) {
      return fail(from_errno(errno, "wait for clients", "listening sockets"));
    }
    if (all[0].revents != 0) {
      return {};
    }
    // Existing visitors first: adding new ones moves them in memory.
    const std::size_t first = 1 + listeners_.size();
    std::vector<Visitor> staying;
    for (std::size_t i = 0; i < visitors_.size(); ++i) {
      if (all[first + i].revents == 0 || receive_from(visitors_[i])) {
        staying.push_back(std::move(visitors_[i]));
      }
    }
    visitors_ = std::move(staying);
    remove_late();
    for (std::size_t i = 0; i < listeners_.size(); ++i) {
      if (all[1 + i].revents != 0) {
        accept_from(listeners_[i].get());
      }
    }
  }
}

void Acceptor::accept_from(int listener) {
  Result<std::optional<sys::Descriptor>> fd = net::accept(listener);
  if (!fd) {
    poll(nullptr, 0, static_cast<int>(kRest.count()));
    return;
  }
  if (!*fd) {
    return;  // it has gone again
  }
  const Result<net::Endpoint> from = net::peer_endpoint((*fd)->get());
  if (!from) {
    return;
  }
  if (visitors_.size() >= rules_.most_visitors) {
    visitors_.erase(visitors_.begin());
  }
  visitors_.push_back({.fd = std::move(**fd),
                       .from = *from,
                       .received = {},
                       .deadline = Deadline::Clock::now() + rules_.time_limit});
}

bool Acceptor::receive_from(Visitor& visitor) {
  std::array<char, 512> buffer{};
  const std::size_t wanted = std::min(rules_.wants(visitor.received), buffer.size());
  const ssize_t got = recv(visitor.fd.get(), buffer.data(), wanted, MSG_DONTWAIT);
  if (got < 0) {
    return errno == EAGAIN || errno == EINTR;
  }
  visitor.received.append(buffer.data(), static_cast<std::size_t>(got));
  if (got == 0 || rules_.wants(visitor.received) > 0) {
    return got > 0;
  }
  rules_.on_ready(std::move(visitor));
  return false;
}

void Acceptor::remove_late() {
  const auto now = Deadline::Clock::now();
  std::erase_if(visitors_, [&](const Visitor& visitor) { return visitor.deadline < now; });
}

Result<> check_openness(const net::Endpoint& local, bool insecure_open, const std::string& flag) {
  if (insecure_open || local.address.is_loopback()) {
    return {};
  }
  return fail(ErrorKind::Usage, flag, local.text(),
              "that protocol knows no key, so anybody who reaches the port could start tests",
              "listen on a loopback address, or say --insecure-open");
}

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

Result<Visitor> WaitingRoom::next(const net::Deadline& deadline) {
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
    TRY(net::wait_for(bell_.get(), POLLIN, deadline, "wait for", "a client"));
  }
}

void WaitingRoom::clear() {
  const std::lock_guard lock(mutex_);
  waiting_.clear();
}

}  // namespace chokepoint::probe::peer
