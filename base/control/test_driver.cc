#include "base/control/test_driver.h"

#include <poll.h>

#include <utility>

namespace chokepoint::control {
namespace {

using net::Deadline;

// An interrupted test still collects what both ends measured, but the user does not wait long.
constexpr std::chrono::seconds kAfterInterrupt{3};
// To send the reason of an error to a peer that may be gone.
constexpr std::chrono::seconds kReason{1};

Result<> read_messages(TestEnd& end) {
  while (!end.is_done()) {
    TRY(const std::optional<Message> message, end.channel().poll());
    if (!message) {
      return {};
    }
    if (message->type == Type::Failed || message->type == Type::Refused) {
      return fail(error_in(message->body, end.channel().peer()));
    }
    TRY(end.receive(*message));
  }
  return {};
}

class WorkUntilStopped final : public ServerEnd {
 public:
  WorkUntilStopped(Session& session, std::string_view kind, const std::function<Result<>()>& work)
      : ServerEnd(session, kind), work_(work) {}

  Result<bool> turn(const Deadline& /*deadline*/) override {
    TRY(work_());
    return true;
  }

 private:
  const std::function<Result<>()>& work_;
};

}  // namespace

Result<bool> TestEnd::wait_for_message(const Deadline& deadline,
                                       std::chrono::nanoseconds most) const {
  const Result<> waited =
      net::wait_for(channel_.descriptor(), POLLIN, deadline.at_most(most), kind_, channel_.peer());
  const bool is_over = !waited && waited.error().kind != ErrorKind::Timeout &&
                       waited.error().kind != ErrorKind::Interrupted;
  return is_over ? std::unexpected(waited.error()) : Result<bool>(true);
}

Result<> TestEnd::fail_out_of_turn(const Message& message) const {
  return fail(ErrorKind::Malformed, kind_, channel_.peer(),
              std::string(name_of(message.type)) + " came in the middle of a test");
}

Result<> drive(TestEnd& end, Deadline deadline) {
  while (!end.is_done()) {
    TRY(const bool is_due, end.turn(deadline));
    if (!is_due) {
      continue;
    }
    TRY(read_messages(end));
    TRY(end.look(deadline));
    if (deadline.over() && !end.is_done()) {
      return fail(ErrorKind::Timeout, end.kind(), end.channel().peer(),
                  "it did not say that it was done");
    }
  }
  return {};
}

Result<> ClientEnd::receive(const Message& message) {
  switch (message.type) {
    case Type::Report:
      return take_report(message.body);
    case Type::Result:
      result_ = message.body;
      return {};
    default:
      return fail_out_of_turn(message);
  }
}

Result<> ClientEnd::look(Deadline& deadline) {
  TRY(tick());
  if (is_stopped_) {
    return {};
  }
  is_interrupted_ = sys::is_readable(deadline.interrupt);
  if (!is_interrupted_ && (ending_ == Ending::ByBoth || !has_ended())) {
    return {};
  }
  is_stopped_ = true;
  stop();
  deadline = is_interrupted_ ? Deadline::of(kAfterInterrupt) : Deadline::of(kAnswer);
  return channel().send({Type::Stop}, deadline);
}

Result<> ServerEnd::receive(const Message& message) {
  if (message.type != Type::Stop) {
    return fail_out_of_turn(message);
  }
  is_stopped_ = true;
  stop();
  return {};
}

Result<> ServerEnd::look(Deadline& deadline) {
  TRY(tick());
  return !is_done() && sys::is_readable(deadline.interrupt)
             ? fail(ErrorKind::Interrupted, kind(), channel().peer(), "the server stops")
             : Result<>{};
}

Result<Json> request_test(Client& client, std::string_view kind, Json parameters, int interrupt,
                          const Waiting& waiting) {
  return client.request(std::string(kind), std::move(parameters),
                        Deadline::of(kMaxQueueTime, interrupt), waiting);
}

Result<std::vector<sys::Descriptor>> attach_streams(const Client& client, int count,
                                                    const net::SocketOptions& options,
                                                    const Deadline& deadline) {
  std::vector<sys::Descriptor> streams;
  for (int index = 0; index < count; ++index) {
    TRY(sys::Descriptor fd, client.attach(index, options, deadline));
    streams.push_back(std::move(fd));
  }
  return streams;
}

Result<Json> stop_test(Client& client, const Deadline& deadline) {
  TRY(client.channel().send({Type::Stop}, deadline));
  while (true) {
    TRY(Message message, client.channel().receive(deadline));
    if (message.type == Type::Result) {
      return std::move(message.body);
    }
    if (message.type == Type::Failed || message.type == Type::Refused) {
      return fail(error_in(message.body, client.channel().peer()));
    }
    if (message.type != Type::Report) {
      return fail(ErrorKind::Malformed, "receive", client.channel().peer(),
                  std::string(name_of(message.type)) + " came where a result was expected");
    }
  }
}

Error reason_of_server(Client& client, Error seen, int interrupt) {
  const Deadline deadline = Deadline::of(kReason, interrupt);
  while (true) {
    const Result<Message> message = client.channel().receive(deadline);
    if (message && message->type == Type::Failed) {
      return error_in(message->body, client.channel().peer());
    }
    if (!message || message->type != Type::Report) {
      return seen;
    }
  }
}

Result<std::vector<sys::Descriptor>> take_streams(Session& session, int count,
                                                  const net::SocketOptions& options) {
  session.expect_streams(count);
  TRY(session.send(Type::Ready));
  TRY(std::vector<sys::Descriptor> streams, session.streams(session.deadline(kSetUp)));
  for (const sys::Descriptor& stream : streams) {
    TRY(net::apply(options, stream.get(), session.peer().address.family()));
  }
  return streams;
}

Result<> until_stopped(Session& session, std::string_view kind, const Deadline& deadline,
                       const std::function<Result<>()>& work) {
  WorkUntilStopped end(session, kind, work);
  return drive(end, deadline);
}

}  // namespace chokepoint::control
