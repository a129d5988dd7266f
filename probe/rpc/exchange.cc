#include "probe/rpc/exchange.h"

#include <fmt/format.h>

#include "base/control/message.h"
#include "base/math/units.h"

namespace chokepoint::probe::rpc {

using control::Client;
using control::Message;
using control::Type;
using net::Deadline;

Result<std::vector<sys::Descriptor>> attach_all(Client& client, const Parameters& parameters,
                                                const Deadline& deadline) {
  std::vector<sys::Descriptor> connections;
  for (int i = 0; i < parameters.callers; ++i) {
    TRY(sys::Descriptor fd, client.attach(i, socket_options(parameters), deadline));
    connections.push_back(std::move(fd));
  }
  TRY(client.channel().expect(Type::Begin, deadline));
  return connections;
}

Result<> hear_progress(Client& client, Engine& engine) {
  while (true) {
    TRY(const std::optional<Message> message, client.channel().poll());
    if (!message) {
      return {};
    }
    if (message->type == Type::Failed) {
      return fail(control::error_in(message->body, client.channel().peer()));
    }
    if (message->type != Type::Report) {
      return fail(ErrorKind::Malformed, "rpc", client.channel().peer(),
                  std::string(control::name_of(message->type)) + " came in the middle of a test");
    }
    TRY(const std::uint64_t progress, progress_in(message->body));
    engine.note_progress_behind(progress);
  }
}

Result<Half> stop(Client& client, const Deadline& deadline) {
  TRY(client.channel().send({Type::Stop}, deadline));
  while (true) {
    TRY(const Message message, client.channel().receive(deadline));
    if (message.type == Type::Result) {
      return half_in(message.body);
    }
    if (message.type != Type::Report) {
      return fail(control::error_in(message.body, client.channel().peer()));
    }
  }
}

Error told_by(Client& client, Error seen, int interrupt) {
  const Deadline deadline = Deadline::of(std::chrono::seconds(1), interrupt);
  while (true) {
    const Result<Message> message = client.channel().receive(deadline);
    if (!message || (message->type != Type::Failed && message->type != Type::Report)) {
      return seen;
    }
    if (message->type == Type::Failed) {
      return control::error_in(message->body, client.channel().peer());
    }
  }
}

Error stalled(Client& client, const Engine& engine, const Parameters& parameters) {
  constexpr std::chrono::seconds kWord{3};
  const auto bytes = [](std::uint64_t count) {
    return math::format_bytes(static_cast<double>(count));
  };
  const std::string what =
      fmt::format("no answer and no byte for {} after {} calls",
                  math::format_duration(patience_of(parameters)), engine.calls().calls);
  Error error;
  error.kind = ErrorKind::Timeout;
  error.subject = client.channel().peer();
  if (!stop(client, Deadline::of(kWord))) {
    error.reason = what + ", and its control connection is silent, too";
    error.next_step = "is the host up, and does 'chokepoint probe path' reach it?";
    return error;
  }
  error.reason = fmt::format(
      "{}, though the small packets of its control connection pass: of requests of {} and answers "
      "of {} the large ones seem to vanish",
      what, bytes(parameters.request_bytes), bytes(parameters.response_bytes));
  error.next_step =
      "'chokepoint probe path' finds the largest packet that the path carries; set the MTU of both "
      "interfaces to it, or net.ipv4.tcp_mtu_probing to 1";
  return error;
}

}  // namespace chokepoint::probe::rpc
