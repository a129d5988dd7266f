#include "capture/socket/network_watch.h"

#include <netinet/tcp.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace chokepoint::capture::socket {
namespace {

// How long after a connection vanished its destroy event may come.
constexpr std::int64_t kDestroyEventNs = kSecondNs / 2;
// So many dumps without it end a socket of the job; one dump may miss a socket.
constexpr std::uint64_t kUnlistedDumps = 3;
// A socket that an application holds open after the connection broke is destroyed when it closes
// it, if ever. At most so many are remembered until then.
constexpr std::size_t kMaxClosed = 4'096;
// How long a closed connection waits for a rule to find its owner: a judgement.
constexpr std::int64_t kHoldUnownedNs = 2 * kSecondNs;

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

Result<> NetworkWatch::dump(std::int64_t now_ns) {
  ++dumps_;
  if (interfaces_ns_ == 0) {
    refresh_interfaces(now_ns);
  }
  const Result<> done = kernel_->dump([&](const Reading& reading) { list(reading, now_ns); });
  if (done) {
    sweep(now_ns);
  }
  return done;
}

void NetworkWatch::list(const Reading& reading, std::int64_t now_ns) {
  if (is_full() && !sockets_.contains(reading.cookie)) {
    return;
  }
  const auto [known, is_new] = sockets_.try_emplace(reading.cookie);
  Socket& socket = known->second;
  socket.dump = dumps_;
  if (is_new) {
    socket.ends = reading.ends;
    socket.is_listener = reading.state == TCP_LISTEN;
    unsettled_.push_back(reading.cookie);
    needs_holders_ = needs_holders_ || reading.inode != 0;
    socket.needs_holder = true;
  }
  // A process has accepted it.
  if (std::exchange(socket.inode, reading.inode != 0 ? reading.inode : socket.inode) == 0 &&
      reading.inode != 0) {
    seek_holder(reading.cookie, socket);
  }
  if (!socket.is_listener && socket.whose != Whose::Other) {
    list_connection(socket, reading, now_ns);
  }
}

void NetworkWatch::seek_holder(std::uint64_t cookie, Socket& socket) {
  needs_holders_ = true;
  socket.tries = 0;
  if (!std::exchange(socket.needs_holder, true)) {
    unsettled_.push_back(cookie);
  }
}

void NetworkWatch::list_connection(Socket& socket, const Reading& reading, std::int64_t now_ns) {
  if (!socket.connection) {
    socket.connection = connection_of(reading, now_ns);
    socket.connection->was_there_first = dumps_ == 1;
    return;
  }
  Connection& connection = *socket.connection;
  if (socket.whose == Whose::Unknown) {
    Journal::remember(connection, reading, now_ns);
  } else if (journal_.count(connection, reading) && !connection.is_queued &&
             socket.whose == Whose::Job) {
    connection.changed_ns = now_ns;
    connection.is_queued = true;
    queue_.add(reading.cookie, now_ns);
  }
}

std::unique_ptr<Connection> NetworkWatch::connection_of(const Reading& reading,
                                                        std::int64_t now_ns) const {
  auto connection = std::make_unique<Connection>();
  connection->name = reading.name;
  connection->ends = reading.ends;
  connection->cookie = reading.cookie;
  connection->bound_to = reading.interface;
  connection->seen_ns = now_ns;
  Journal::remember(*connection, reading, now_ns);
  return connection;
}

void NetworkWatch::sweep(std::int64_t now_ns) {
  for (auto known = sockets_.begin(); known != sockets_.end();) {
    auto& [cookie, socket] = *known;
    known = socket.dump != dumps_ && is_over(cookie, socket, now_ns) ? sockets_.erase(known)
                                                                     : std::next(known);
  }
  std::erase_if(unowned_, [&](const auto& connection) {
    return now_ns - connection->last.t_ns > kHoldUnownedNs;
  });
  for (; closed_.size() > kMaxClosed; closed_.pop_front()) {
    sockets_.erase(closed_.front());
  }
  belonging_.forget_old(now_ns);
}

// For a socket that the dump did not list. A dump may miss sockets that move meanwhile, so a
// connection of the job is queried by its name.
bool NetworkWatch::is_over(std::uint64_t cookie, Socket& socket, std::int64_t now_ns) {
  if (socket.whose == Whose::Closed) {
    return false;
  }
  if (socket.whose == Whose::Job && !socket.is_listener) {
    Connection& connection = *socket.connection;
    if (connection.vanished_ns == 0 && !std::exchange(connection.is_queued, true)) {
      queue_.add(cookie, now_ns);
    }
    if (connection.vanished_ns != 0 && now_ns - connection.vanished_ns > kDestroyEventNs) {
      close(socket, now_ns);
      closed_.push_back(cookie);
    }
    return false;
  }
  if (socket.is_listener) {
    belonging_.listener_closed(cookie, now_ns);
    return true;
  }
  if (socket.whose == Whose::Other || dumps_ - socket.dump < kUnlistedDumps) {
    return socket.whose == Whose::Other;
  }
  if (socket.connection) {
    hold_unowned(std::move(socket.connection), now_ns);
  }
  return true;
}

Result<> NetworkWatch::sample(std::int64_t now_ns, Budget& budget) {
  queried_.clear();
  const std::int64_t until_ns = now_ns + busy_interval_ns_ / 4;
  while (budget.has_room()) {
    const std::optional<std::uint64_t> cookie = queue_.take(until_ns);
    if (!cookie) {
      break;
    }
    queried_.push_back(*cookie);
    budget.charge();
  }
  return sample_due(now_ns, &budget);
}

Result<> NetworkWatch::sample_all(std::int64_t now_ns) {
  queried_.clear();
  for (const auto& [cookie, socket] : sockets_) {
    if (socket.whose == Whose::Job && !socket.is_listener) {
      queried_.push_back(cookie);
    }
  }
  const Result<> done = sample_due(now_ns, nullptr);
  for (auto& [cookie, socket] : sockets_) {
    if (socket.whose == Whose::Job && !socket.is_listener) {
      journal_.write_last(*socket.connection);
    }
  }
  return done;
}

Result<> NetworkWatch::sample_due(std::int64_t now_ns, Budget* budget) {
  std::erase_if(queried_, [&](std::uint64_t cookie) {
    const auto known = sockets_.find(cookie);
    const bool is_there = known != sockets_.end() && known->second.whose == Whose::Job &&
                          known->second.connection->vanished_ns == 0;
    if (is_there) {
      known->second.connection->is_queued = false;
    }
    return !is_there;
  });
  names_.clear();
  for (const std::uint64_t cookie : queried_) {
    names_.push_back(sockets_.at(cookie).connection->name);
  }
  const Result<> done = kernel_->query(names_, [&](std::size_t index, const Reading* reading) {
    Connection& connection = *sockets_.at(queried_[index]).connection;
    if (reading == nullptr) {
      connection.vanished_ns = now_ns;
      changed_ns_ = now_ns;
    } else if (journal_.keep(connection, *reading, now_ns) > 1 && budget != nullptr) {
      budget->charge();
    }
  });
  for (const std::uint64_t cookie : queried_) {
    schedule(*sockets_.at(cookie).connection, now_ns);
  }
  return done;
}

void NetworkWatch::schedule(Connection& connection, std::int64_t now_ns) {
  const auto due_ns = socket::sample_due_ns(now_ns, connection.changed_ns, busy_interval_ns_);
  if (due_ns && connection.vanished_ns == 0 && !std::exchange(connection.is_queued, true)) {
    queue_.add(connection.cookie, *due_ns);
  }
}

void NetworkWatch::refresh_interfaces(std::int64_t now_ns) {
  if (interfaces_ns_ != 0 && now_ns - interfaces_ns_ < kSecondNs) {
    return;
  }
  interfaces_ns_ = now_ns;
  if (Result<Interfaces> found = kernel_->interfaces()) {
    interfaces_ = std::move(*found);
  }
}

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
