// Puts what is seen of the job's connections where it belongs: rows into the record, their ends and
// owners into the book, their sums into the account. Of one network namespace. The watcher's thread
// only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/record/writer.h"
#include "capture/book/flow_book.h"
#include "capture/socket/account.h"
#include "capture/socket/connection.h"

namespace chokepoint::capture::socket {

class Journal {
 public:
  // All of them outlive it.
  Journal(std::uint64_t network, record::Producer& producer, book::FlowBook& book, Account& account)
      : network_(network), producer_(producer), book_(book), account_(account) {}

  // From now on it is the job's. Where it `is_older` than the watching, what it came to before does
  // not count.
  void admit(Connection& connection, const book::Owner& owner, bool is_older);
  void own(Connection& connection, const book::Owner& owner);

  // What one look says. A row is written where something changed; of a time in which nothing did,
  // the last moment is written too, so that a growth is not taken for one of the whole time. How
  // many rows it were.
  int keep(Connection& connection, const Reading& reading, std::int64_t now_ns);
  // The last row, where it is not there yet.
  void keep_last(Connection& connection);
  // Counts, but leaves rows to keep(): whether it would find a change.
  bool count(Connection& connection, const Reading& reading);
  // Of a connection that is not known to be the job's.
  static void remember(Connection& connection, const Reading& reading, std::int64_t now_ns);

  void close(Connection& connection, std::int64_t now_ns);
  // One was the job's by a rule alone, and closed before it was looked at.
  void judged(Rule rule) { account_.judged(rule); }

 private:
  // Counts it, and gives it as a row.
  record::SocketSample take(Connection& connection, const Reading& reading, std::int64_t now_ns);
  void write(const record::SocketSample& row);

  std::uint64_t network_;
  record::Producer& producer_;
  book::FlowBook& book_;
  Account& account_;
};

}  // namespace chokepoint::capture::socket
