// The part of NetworkWatch that decides whose the sockets are, and closes them.
#include <algorithm>
#include <utility>

#include "capture/socket/network_watch.h"

namespace chokepoint::capture::socket {
namespace {

// Searches without a holder in the job, after which a socket is not the job's: see network_watch.h.
constexpr std::uint8_t kMaxTries = 2;
constexpr std::size_t kMaxUnowned = 1'024;  // closed connections that wait for an owner
// A process that started so long before the watching counts as older than it.
constexpr std::int64_t kOlderNs = 2'000'000'000;

std::optional<std::int64_t> row_of(const job::JobProcess& process) {
  return process.record_id != 0 ? std::optional(process.record_id) : std::nullopt;
}

bool has_carried_nothing(const Connection& connection) {
  return connection.seen.sent_bytes == 0 && connection.seen.received_bytes == 0;
}

}  // namespace

void NetworkWatch::assign(const Holders& holders, bool has_grown, std::int64_t now_ns) {
  if (has_grown) {
    for (auto& [cookie, socket] : sockets_) {
      update_owner(cookie, socket, holders);
    }
  }
  needs_holders_ = false;
  std::erase_if(unsettled_, [&](std::uint64_t cookie) { return settle(cookie, holders, now_ns); });
  std::erase_if(unowned_, [&](auto& connection) { return judge_closed(*connection, now_ns); });
}

// Sockets that are settled may be held by processes that are new, or have a rank now.
void NetworkWatch::update_owner(std::uint64_t cookie, Socket& socket, const Holders& holders) {
  const job::JobProcess* holder = holders.holder_of(socket.inode);
  if (holder == nullptr || socket.needs_holder) {
    return;
  }
  if (socket.whose == Whose::Job && !socket.is_listener) {
    journal_.own(*socket.connection, owner_of(*socket.connection, row_of(*holder)));
  } else if (socket.whose == Whose::Job) {
    belonging_.listens(cookie, socket.ends, row_of(*holder));
  } else if (socket.whose == Whose::Other) {
    socket.whose = Whose::Unknown;
    if (!socket.is_listener) {
      belonging_.remove_other_peer(socket.ends);
    }
    seek_holder(cookie, socket);
  }
}

bool NetworkWatch::settle(std::uint64_t cookie, const Holders& holders, std::int64_t now_ns) {
  const auto known = sockets_.find(cookie);
  if (known == sockets_.end()) {
    return true;
  }
  Socket& socket = known->second;
  const bool is_settled = settle(cookie, socket, holders.holder_of(socket.inode), now_ns);
  socket.needs_holder = !is_settled;
  needs_holders_ = needs_holders_ || (!is_settled && socket.inode != 0);
  return is_settled;
}

bool NetworkWatch::settle(std::uint64_t cookie, Socket& socket, const job::JobProcess* holder,
                          std::int64_t now_ns) {
  if (holder != nullptr && socket.inode != 0) {
    const bool is_older = holder->start_ns < began_ns_ - kOlderNs;
    admit(cookie, socket, row_of(*holder), is_older, now_ns);
    // A socket that turned out to be the job's waits for its first reading.
    return socket.whose == Whose::Job;
  }
  if (socket.inode == 0) {
    const auto verdict = socket.whose == Whose::Unknown && !socket.is_listener
                             ? belonging_.judge_by_listener(socket.ends)
                             : std::nullopt;
    if (verdict) {
      admit(cookie, socket, verdict->process, false, now_ns);
    }
    return socket.whose != Whose::Unknown;
  }
  if (++socket.tries < kMaxTries) {
    return false;
  }
  if (socket.whose == Whose::Unknown) {
    socket.whose = Whose::Other;
    socket.connection.reset();
    if (!socket.is_listener) {
      belonging_.add_other_peer(socket.ends);
    }
  }
  return true;
}

void NetworkWatch::admit(std::uint64_t cookie, Socket& socket, std::optional<std::int64_t> process,
                         bool is_older, std::int64_t now_ns) {
  if (socket.is_listener) {
    socket.whose = Whose::Job;
    belonging_.listens(cookie, socket.ends, process);
    return;
  }
  if (!socket.connection) {
    return;
  }
  Connection& connection = *socket.connection;
  if (socket.inode != 0) {
    belonging_.add_job_peer(socket.ends);
  }
  if (socket.whose != Whose::Unknown) {
    journal_.own(connection, owner_of(connection, process));
    return;
  }
  socket.whose = Whose::Job;
  ++connections_;
  changed_ns_ = now_ns;
  journal_.admit(connection, owner_of(connection, process), is_older && connection.was_there_first);
  connection.changed_ns = now_ns;
  schedule(connection, now_ns);
}

Owner NetworkWatch::owner_of(const Connection& connection, std::optional<std::int64_t> process) {
  std::string interface = interfaces_.of(connection.ends, connection.bound_to);
  if (interface.empty()) {
    refresh_interfaces(connection.last.t_ns);
    interface = interfaces_.of(connection.ends, connection.bound_to);
  }
  return {.process = process, .interface = std::move(interface), .is_job = true};
}

Result<> NetworkWatch::take_destroyed(std::int64_t now_ns) {
  return kernel_->destroyed([&](const Reading& reading) { take_last_state(reading, now_ns); });
}

void NetworkWatch::take_last_state(const Reading& reading, std::int64_t now_ns) {
  const auto known = sockets_.find(reading.cookie);
  if (known == sockets_.end()) {
    if (reading.ends.destination_port != 0) {
      hold_unowned(connection_of(reading, now_ns), now_ns);
    }
    return;
  }
  Socket& socket = known->second;
  if (socket.is_listener) {
    belonging_.listener_closed(reading.cookie, now_ns);
  } else if (socket.whose == Whose::Job) {
    journal_.keep(*socket.connection, reading, now_ns);
    close(socket, now_ns);
  } else if (socket.whose == Whose::Closed) {
    journal_.count(*socket.connection, reading);
  } else if (socket.whose == Whose::Unknown && socket.connection) {
    Journal::remember(*socket.connection, reading, now_ns);
    hold_unowned(std::move(socket.connection), now_ns);
  }
  sockets_.erase(known);
}

void NetworkWatch::close(Socket& socket, std::int64_t now_ns) {
  socket.whose = Whose::Closed;
  --connections_;
  changed_ns_ = now_ns;
  journal_.close(*socket.connection, now_ns);
}

void NetworkWatch::hold_unowned(std::unique_ptr<Connection> connection, std::int64_t now_ns) {
  if (has_carried_nothing(*connection) || judge_closed(*connection, now_ns)) {
    return;
  }
  if (unowned_.size() < kMaxUnowned) {
    unowned_.push_back(std::move(connection));
  }
}

bool NetworkWatch::judge_closed(Connection& connection, std::int64_t now_ns) {
  const auto verdict = belonging_.judge(connection.ends, interfaces_);
  if (!verdict) {
    return false;
  }
  journal_.admit(connection, owner_of(connection, verdict->process), connection.was_there_first);
  journal_.close(connection, now_ns);
  journal_.judged(verdict->rule);
  changed_ns_ = now_ns;
  return true;
}

}  // namespace chokepoint::capture::socket
