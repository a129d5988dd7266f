#include "capture/socket/journal.h"

namespace chokepoint::capture::socket {
namespace {

// One that tells nothing leaves what was known.
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

void Journal::admit(Connection& connection, const book::Owner& owner, bool is_older) {
  const book::Sighting sighting = book_.seen_by_sockets(
      connection.ends, network_, connection.cookie, owner, connection.seen_ns);
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
  keep_last(connection);
}

void Journal::own(Connection& connection, const book::Owner& owner) {
  book_.own(*connection.entry, connection.cookie, owner);
}

int Journal::keep(Connection& connection, const Reading& reading, std::int64_t now_ns) {
  const record::SocketSample row = take(connection, reading, now_ns);
  int rows = 0;
  if (is_other(row, connection.last)) {
    rows = connection.is_last_written ? 1 : 2;
    keep_last(connection);
    write(row);
    connection.changed_ns = now_ns;
  }
  connection.is_last_written = rows > 0;
  connection.last = row;
  return rows;
}

void Journal::keep_last(Connection& connection) {
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
  keep_last(connection);
  book_.left_by_sockets(connection.entry, connection.cookie, now_ns);
  account_.close();
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

// A connection without a row of its own has no place for samples.
void Journal::write(const record::SocketSample& row) {
  if (row.flow != 0) {
    producer_.push(row);
  }
}

}  // namespace chokepoint::capture::socket
