#include "base/control/channel.h"

#include <fmt/format.h>
#include <poll.h>

#include "base/control/message.h"
#include "base/net/socket.h"

namespace chokepoint::control {

Result<> Channel::send(const Message& message, const net::Deadline& deadline) {
  const std::string frame = outgoing_ ? encode(message, *outgoing_) : encode(message);
  return net::send_all(fd_.get(), std::as_bytes(std::span(frame)), deadline, peer_);
}

Result<std::optional<Message>> Channel::take(std::size_t count) {
  if (count == 0) {
    return fail(ErrorKind::Refused, "receive", peer_, "it closed the connection");
  }
  Result<std::optional<Message>> message = reader_.took(count);
  if (!message) {
    message.error().subject = peer_;
  }
  return message;
}

Result<Message> Channel::receive(const net::Deadline& deadline) {
  while (true) {
    TRY(const std::size_t got, net::receive_some(fd_.get(), reader_.wanted(), deadline, peer_));
    TRY(std::optional<Message> message, take(got));
    if (message) {
      return std::move(*message);
    }
  }
}

Result<Message> Channel::expect(Type type, const net::Deadline& deadline) {
  Result<Message> message = receive(deadline);
  if (!message || message->type == type) {
    return message;
  }
  if (message->type == Type::Refused || message->type == Type::Failed) {
    return fail(error_in(message->body, peer_));
  }
  return fail(
      ErrorKind::Malformed, "receive", peer_,
      fmt::format("a {} came where a {} was expected", name_of(message->type), name_of(type)));
}

Result<std::optional<Message>> Channel::poll() {
  while (true) {
    pollfd watched{fd_.get(), POLLIN, 0};
    if (::poll(&watched, 1, 0) <= 0) {
      return std::nullopt;
    }
    const Result<std::size_t> got =
        net::receive_some(fd_.get(), reader_.wanted(), net::Deadline::of({}), peer_);
    if (!got) {
      return std::unexpected(got.error());
    }
    Result<std::optional<Message>> message = take(*got);
    if (!message || *message) {
      return message;
    }
  }
}

}  // namespace chokepoint::control
