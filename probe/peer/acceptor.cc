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

// How often it looks for connections that have sent nothing for too long.
constexpr std::chrono::milliseconds kCheckInterval{500};
// Without descriptors left accept() fails at once, again and again: wait before the next attempt.
constexpr std::chrono::milliseconds kRetryInterval{50};

std::vector<pollfd> watched(int stop, const std::vector<sys::Descriptor>& listeners,
                            const std::vector<PendingConnection>& pending) {
  std::vector<pollfd> all{{stop, POLLIN, 0}};
  for (const sys::Descriptor& listener : listeners) {
    all.push_back({listener.get(), POLLIN, 0});
  }
  for (const PendingConnection& connection : pending) {
    all.push_back({connection.fd.get(), POLLIN, 0});
  }
  return all;
}

}  // namespace

Result<> Acceptor::run(int stop) {
  while (true) {
    std::vector<pollfd> all = watched(stop, listeners_, pending_);
    if (poll(all.data(), all.size(), static_cast<int>(kCheckInterval.count())) < 0 &&
        errno != EINTR) {
      return fail(from_errno(errno, "wait for clients", "listening sockets"));
    }
    if (all[0].revents != 0) {
      return {};
    }
    // Existing pending first: adding new ones moves them in memory.
    const std::size_t first = 1 + listeners_.size();
    std::vector<PendingConnection> staying;
    for (std::size_t i = 0; i < pending_.size(); ++i) {
      if (all[first + i].revents == 0 || receive_from(pending_[i])) {
        staying.push_back(std::move(pending_[i]));
      }
    }
    pending_ = std::move(staying);
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
    poll(nullptr, 0, static_cast<int>(kRetryInterval.count()));
    return;
  }
  if (!*fd) {
    return;  // it has gone again
  }
  const Result<net::Endpoint> from = net::peer_endpoint((*fd)->get());
  if (!from) {
    return;
  }
  if (pending_.size() >= rules_.max_pending) {
    pending_.erase(pending_.begin());
  }
  pending_.push_back({.fd = std::move(**fd),
                      .from = *from,
                      .received = {},
                      .deadline = Deadline::Clock::now() + rules_.time_limit});
}

bool Acceptor::receive_from(PendingConnection& connection) {
  std::array<char, 512> buffer{};
  const std::size_t wanted = std::min(rules_.wants(connection.received), buffer.size());
  const ssize_t got = recv(connection.fd.get(), buffer.data(), wanted, MSG_DONTWAIT);
  if (got < 0) {
    return errno == EAGAIN || errno == EINTR;
  }
  connection.received.append(buffer.data(), static_cast<std::size_t>(got));
  if (got == 0 || rules_.wants(connection.received) > 0) {
    return got > 0;
  }
  rules_.on_ready(std::move(connection));
  return false;
}

void Acceptor::remove_late() {
  const auto now = Deadline::Clock::now();
  std::erase_if(pending_,
                [&](const PendingConnection& connection) { return connection.deadline < now; });
}

Result<> check_openness(const net::Endpoint& local, bool insecure_open, const std::string& flag) {
  if (insecure_open || local.address.is_loopback()) {
    return {};
  }
  return fail(ErrorKind::Usage, flag, local.text(),
              "that protocol knows no key, so anybody who reaches the port could start tests",
              "listen on a loopback address, or say --insecure-open");
}

Result<std::unique_ptr<ConnectionQueue>> ConnectionQueue::make(std::size_t most) {
  sys::Descriptor event(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!event) {
    return fail(from_errno(errno, "prepare", "queue of connections"));
  }
  return std::unique_ptr<ConnectionQueue>(new ConnectionQueue(most, std::move(event)));
}

bool ConnectionQueue::push(PendingConnection& connection) {
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.size() >= most_) {
      return false;
    }
    waiting_.push_back(std::move(connection));
  }
  const std::uint64_t one = 1;
  static_cast<void>(write(event_.get(), &one, sizeof(one)));
  return true;
}

Result<PendingConnection> ConnectionQueue::next(const net::Deadline& deadline) {
  while (true) {
    {
      const std::lock_guard lock(mutex_);
      std::uint64_t rung = 0;
      static_cast<void>(read(event_.get(), &rung, sizeof(rung)));
      if (!waiting_.empty()) {
        PendingConnection first = std::move(waiting_.front());
        waiting_.pop_front();
        return first;
      }
    }
    TRY(net::wait_for(event_.get(), POLLIN, deadline, "wait for", "a client"));
  }
}

void ConnectionQueue::clear() {
  const std::lock_guard lock(mutex_);
  waiting_.clear();
}

}  // namespace chokepoint::probe::peer
