// A test between two hosts, driven: what both ends do whatever the kind of test is. A kind gives
// the driver its parameters (TestService of service.h reads and checks them) and, for each end, a
// TestEnd that moves and counts the data; the driver has the messages, deadlines and interruptions.
//
//   client                                         server
//     request_test     Request {…} ─────────────────►   TestService, then the turn
//                      ◄─────────────────── Ready {…}   take_streams, or what the kind agrees on
//     attach_streams   Attach × streams ════════════►
//                      ◄─────────────────── Begin {}
//     drive            ◄═══ data of the kind ═══════►   drive
//                      ◄────────────── Report {…} …     ServerEnd::send_report
//                      Stop {} ─────────────────────►   ClientEnd has ended, or its user interrupts
//                      ◄────────────────── Result {…}   or Failed
//
// A client that does all its work in one call (a sweep, a survey) does it between request_test and
// stop_test; its server needs no more than until_stopped. Everything runs on the caller's thread;
// a TestEnd owns the threads of its data. The channel outlives the TestEnd.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/control/channel.h"
#include "base/control/client.h"
#include "base/control/session.h"
#include "base/net/deadline.h"
#include "base/net/socket.h"
#include "base/sys/descriptor.h"
#include "base/sys/error.h"

namespace chokepoint::control {

// One end of a running test.
class TestEnd {
 public:
  // `kind` is the test's, for errors.
  TestEnd(Channel& channel, std::string_view kind) : channel_(channel), kind_(kind) {}
  TestEnd(const TestEnd&) = delete;
  TestEnd& operator=(const TestEnd&) = delete;
  virtual ~TestEnd() = default;

  Channel& channel() const { return channel_; }
  const std::string& kind() const { return kind_; }

  // Does what there is to do, or waits for it: until a message has come, `deadline` ends the wait,
  // or a fraction of a second is over. False where it is too early to look at messages and the
  // clock again: data may come far more often.
  virtual Result<bool> turn(const net::Deadline& deadline) = 0;
  // A message of the other end; not Failed and Refused, which end the test.
  virtual Result<> receive(const Message& message) = 0;
  // After each look at the messages. May set another deadline for the rest of the test.
  virtual Result<> look(net::Deadline& deadline) = 0;
  virtual bool is_done() const = 0;

 protected:
  // A turn() of an end whose data moves on other threads.
  Result<bool> wait_for_message(const net::Deadline& deadline, std::chrono::nanoseconds most) const;
  Result<> fail_out_of_turn(const Message& message) const;

 private:
  Channel& channel_;
  std::string kind_;
};

// Until `end` is done. The deadline's interrupt wakes an end; what becomes of it is look()'s.
Result<> drive(TestEnd& end, net::Deadline deadline);

// The client's end of a test that ends with the server's Result.
class ClientEnd : public TestEnd {
 public:
  // Whether the client ends the test by a message, or both ends know when it is over.
  enum class Ending { ByStop, ByBoth };
  ClientEnd(Client& client, std::string_view kind, Ending ending)
      : TestEnd(client.channel(), kind), ending_(ending) {}

  Result<> receive(const Message& message) final;
  Result<> look(net::Deadline& deadline) final;
  bool is_done() const final { return result_ && has_ended(); }

  // By the user: what was measured until then is still collected.
  bool is_interrupted() const { return is_interrupted_; }
  // Once it is done.
  const Json& result() const { return *result_; }

 protected:
  virtual Result<> take_report(const Json& body) = 0;
  // Samples, ends intervals.
  virtual Result<> tick() { return {}; }
  // This end has nothing left to do; in any case some time after stop().
  virtual bool has_ended() const = 0;
  // Measuring ends. Called once at most.
  virtual void stop() = 0;
  // Whether stop() was called.
  bool is_stopped() const { return is_stopped_; }

 private:
  Ending ending_;
  bool is_stopped_ = false;
  bool is_interrupted_ = false;
  std::optional<Json> result_ = {};
};

// The server's end of a test. The server's stop is an error.
class ServerEnd : public TestEnd {
 public:
  ServerEnd(Session& session, std::string_view kind)
      : TestEnd(session.channel(), kind), session_(session) {}

  Result<> receive(const Message& message) final;
  Result<> look(net::Deadline& deadline) final;
  bool is_done() const override { return is_stopped_; }

 protected:
  Session& session() const { return session_; }
  // Samples, reports.
  virtual Result<> tick() { return {}; }
  // The client has sent Stop.
  virtual void stop() {}
  Result<> send_report(Json body) { return session_.send(Type::Report, std::move(body)); }

 private:
  Session& session_;
  bool is_stopped_ = false;
};

// Asks for a test and waits an hour at most for its turn. The body of the server's Ready.
// `interrupt`: readable once the user wants it to end.
Result<Json> request_test(Client& client, std::string_view kind, Json parameters, int interrupt,
                          const Waiting& waiting);

// The data connections of the test asked for last, numbered from 0.
Result<std::vector<sys::Descriptor>> attach_streams(const Client& client, int count,
                                                    const net::SocketOptions& options,
                                                    const net::Deadline& deadline);

// Ends the test. The body of the server's Result; Reports that were under way are dropped.
Result<Json> stop_test(Client& client, const net::Deadline& deadline = net::Deadline::of(kAnswer));

// A server that ends a test closes its data connections, which is the error `seen`, and then sends
// why: that, where it comes within a second.
Error reason_of_server(Client& client, Error seen, int interrupt);

// The server's: sends Ready, and takes as many data connections, in the order of their numbers.
Result<std::vector<sys::Descriptor>> take_streams(Session& session, int count,
                                                  const net::SocketOptions& options = {});

// The server's end of a test that lasts until its client sends Stop: calls `work` over and over,
// which waits for what the test has to do and returns within a fraction of a second.
Result<> until_stopped(Session& session, std::string_view kind, const net::Deadline& deadline,
                       const std::function<Result<>()>& work);

}  // namespace chokepoint::control
