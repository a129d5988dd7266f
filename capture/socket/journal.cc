#include "capture/socket/journal.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace chokepoint::capture::socket {
namespace {

constexpr double kNsPerUs = 1'000;
// A single packet that was sent again need not mean that the other end is gone: a judgement.
constexpr std::int64_t kMinResent = 2;
constexpr std::size_t kMaxSilent = 64;  // connections in Figures::silent

bool is_acknowledged(const record::SocketSample& before, const record::SocketSample& now) {
  return now.unacked_packets.value_or(0) == 0 || now.bytes_acked != before.bytes_acked;
}

// A reading without tcp_info leaves `seen` as it was.
void learn(Totals& seen, const Reading& reading, const net::TcpInfo& info) {
  if (!reading.info.empty()) {
    seen += totals_of(info).since(seen);
  }
}

void stamp(record::SocketSample& row, const Connection& connection) {
  row.flow = connection.entry->flow();
  row.direction = connection.is_turned ? record::Direction::BToA : record::Direction::AToB;
}

}  // namespace

void Account::open(const Peer& peer) {
  ++connections_;
  ++connections_ever_;
  if (peers_.size() < kMaxPeers && peers_.insert(peer).second) {
    has_new_peers_ = true;
  }
}

void Account::note_silence(const Connection& connection, const record::SocketSample& row) {
  const std::int64_t resent = row.retransmits.value_or(0) - connection.resent_before;
  if (connection.silent_ns == 0 || resent < kMinResent) {
    silent_.erase(connection.cookie);
  } else if (silent_.size() < kMaxSilent || silent_.contains(connection.cookie)) {
    silent_[connection.cookie] = {.peer = connection.ends.destination,
                                  .is_ipv6 = connection.ends.is_ipv6,
                                  .flow = row.flow,
                                  .since_ns = connection.silent_ns,
                                  .unacked_packets = row.unacked_packets.value_or(0),
                                  .resent_packets = resent};
  }
}

void Account::count(Connection& connection) {
  const Totals more = connection.seen.since(connection.counted);
  connection.counted += more;
  sums_ += more;
  in_window_ += more;
  if (std::exchange(connection.window, window_) != window_) {
    connection.window_busy_us = 0;
  }
  connection.window_busy_us += more.busy_us;
  busiest_us_ = std::max(busiest_us_, connection.window_busy_us);
}

void Account::roll(std::int64_t now_ns) {
  if (window_start_ns_ == 0) {
    window_start_ns_ = now_ns;
  }
  const std::int64_t passed = now_ns - window_start_ns_;
  if (passed < kWindowNs) {
    return;
  }
  shares_ = shares_of_window(passed);
  ++window_;
  window_start_ns_ = now_ns;
  in_window_ = {};
  busiest_us_ = 0;
}

Shares Account::shares_of_window(std::int64_t passed_ns) const {
  if (in_window_.busy_us == 0) {
    return {};
  }
  const auto busy = static_cast<double>(in_window_.busy_us);
  Shares shares;
  shares.busy =
      std::min(1.0, static_cast<double>(busiest_us_) * kNsPerUs / static_cast<double>(passed_ns));
  shares.receive_window = std::min(1.0, static_cast<double>(in_window_.receive_window_us) / busy);
  shares.send_buffer =
      std::min(1.0 - shares.receive_window, static_cast<double>(in_window_.send_buffer_us) / busy);
  shares.network = 1.0 - shares.receive_window - shares.send_buffer;
  return shares;
}

std::string Account::judgements() const {
  const auto [local, other, peer] = judged_;
  const std::uint64_t sum = local + other + peer;
  return sum == 0
             ? std::string()
             : fmt::format(
                   "{} connections closed before they were read and are attributed to the job: {} "
                   "to its listening ports, {} from those, {} with peers that only the job uses",
                   sum, local, other, peer);
}

void Account::report(Figures& figures) {
  figures.connections = static_cast<std::size_t>(std::max<std::int64_t>(connections_, 0));
  figures.connections_ever = connections_ever_;
  figures.sent_bytes = sums_.sent_bytes;
  figures.received_bytes = sums_.received_bytes;
  figures.retransmitted_bytes = sums_.retransmitted_bytes;
  figures.retransmitted_segments = sums_.retransmitted_segments;
  figures.sent_segments = sums_.sent_segments;
  figures.shares = shares_;
  figures.silent.clear();
  for (const auto& [cookie, silent] : silent_) {
    figures.silent.push_back(silent);
  }
  if (std::exchange(has_new_peers_, false)) {
    figures.peers.assign(peers_.begin(), peers_.end());
  }
}

void Journal::admit(Connection& connection, const Owner& owner, bool is_older) {
  const Sighting sighting = registry_.seen_by_sockets(connection.ends, network_, connection.cookie,
                                                      owner, connection.seen_ns);
  connection.entry = sighting.entry;
  connection.is_turned = sighting.is_turned;
  if (is_older) {
    connection.counted = connection.seen;
  }
  account_.open({.address = connection.ends.destination,
                 .is_ipv6 = connection.ends.is_ipv6,
                 .interface = owner.interface,
                 .network = network_});
  account_.count(connection);
  stamp(connection.last, connection);
  write_last(connection);
}

void Journal::own(Connection& connection, const Owner& owner) {
  registry_.own(*connection.entry, connection.cookie, owner);
}

int Journal::keep(Connection& connection, const Reading& reading, std::int64_t now_ns) {
  const record::SocketSample row = take(connection, reading, now_ns);
  if (is_acknowledged(connection.last, row)) {
    connection.silent_ns = 0;
  } else if (connection.silent_ns == 0) {
    connection.silent_ns = connection.last.t_ns;
    connection.resent_before = connection.last.retransmits.value_or(0);
  }
  account_.note_silence(connection, row);
  int rows = 0;
  if (is_other(row, connection.last)) {
    rows = connection.is_last_written ? 1 : 2;
    write_last(connection);
    write(row);
    connection.changed_ns = now_ns;
  }
  connection.is_last_written = rows > 0;
  connection.last = row;
  return rows;
}

void Journal::write_last(Connection& connection) {
  if (!connection.is_last_written) {
    write(connection.last);
    connection.is_last_written = true;
  }
}

bool Journal::count(Connection& connection, const Reading& reading) {
  const record::SocketSample row = take(connection, reading, connection.last.t_ns);
  return is_other(row, connection.last);
}

void Journal::remember(Connection& connection, const Reading& reading, std::int64_t now_ns) {
  const net::TcpInfo info = net::decode_tcp_info(reading.info);
  learn(connection.seen, reading, info);
  connection.last = sample_of(reading, info);
  connection.last.t_ns = now_ns;
  connection.changed_ns = now_ns;
}

void Journal::close(Connection& connection, std::int64_t now_ns) {
  write_last(connection);
  registry_.left_by_sockets(connection.entry, connection.cookie, now_ns);
  account_.close(connection);
}

record::SocketSample Journal::take(Connection& connection, const Reading& reading,
                                   std::int64_t now_ns) {
  const net::TcpInfo info = net::decode_tcp_info(reading.info);
  learn(connection.seen, reading, info);
  account_.count(connection);
  record::SocketSample row = sample_of(reading, info);
  row.t_ns = now_ns;
  stamp(row, connection);
  return row;
}

// A connection without a row of its own (flow 0) cannot have samples.
void Journal::write(const record::SocketSample& row) {
  if (row.flow != 0) {
    producer_.push(row);
  }
}

}  // namespace chokepoint::capture::socket
