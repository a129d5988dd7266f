#include "probe/iperf3/channel.h"

#include <fmt/format.h>

#include <array>

#include "base/net/socket.h"

namespace chokepoint::probe::iperf3 {

namespace {

constexpr std::byte kChokepoint{'C'};  // with which its frames begin

}  // namespace

using net::Deadline;

Result<> Channel::send(std::span<const std::byte> raw, const Deadline& deadline) {
  return net::send_all(fd_.get(), raw, deadline, peer_);
}

Result<> Channel::send(State state, const Deadline& deadline) {
  return send(std::as_bytes(std::span(&state, 1)), deadline);
}

Result<> Channel::send(const ServerError& error, const Deadline& deadline) {
  TRY(send(State::ServerError, deadline));
  return send(encode(error), deadline);
}

Result<> Channel::send_json(const std::string& json, const Deadline& deadline) {
  TRY(send(encode_length(json.size()), deadline));
  return send(std::as_bytes(std::span(json)), deadline);
}

Result<State> Channel::receive(const Deadline& deadline) {
  std::byte raw{};
  TRY(net::receive_all(fd_.get(), std::span(&raw, 1), deadline, peer_));
  const std::optional<State> state = state_of(raw);
  if (raw == kChokepoint) {
    return fail(ErrorKind::Malformed, "", peer_, "it answers as 'chokepoint serve' does",
                "leave --peer-program out");
  }
  if (!state) {
    return fail(ErrorKind::Malformed, "", peer_,
                fmt::format("it answers with byte {}, which is no state of iperf3's",
                            std::to_integer<int>(raw)),
                "is 'iperf3 -s' running there?");
  }
  return *state;
}

Result<> Channel::expect(State wanted, const Deadline& deadline) {
  TRY(const State got, receive(deadline));
  return got == wanted ? Result<>{} : fail(error_for(got, deadline));
}

Result<std::string> Channel::receive_json(std::size_t most, const Deadline& deadline) {
  std::array<std::byte, 4> raw{};
  TRY(net::receive_all(fd_.get(), raw, deadline, peer_));
  TRY(const std::size_t length, decode_length(raw, most));
  std::string json(length, '\0');
  TRY(net::receive_all(fd_.get(), std::as_writable_bytes(std::span(json)), deadline, peer_));
  return json;
}

Error Channel::error_for(State state, const Deadline& deadline) {
  const auto error = [&](ErrorKind kind, std::string reason, std::string next_step = {}) {
    return Error{kind, "", peer_, 0, std::move(reason), std::move(next_step)};
  };
  switch (state) {
    case State::AccessDenied:
      return error(ErrorKind::Busy, "it is busy with another test",
                   "iperf3 serves one client at a time: try again later");
    case State::ServerError: {
      std::array<std::byte, 8> raw{};
      const Result<> got = net::receive_all(fd_.get(), raw, deadline, peer_);
      return error(ErrorKind::Refused,
                   got ? describe(decode_server_error(raw)) : "it reports an error");
    }
    case State::ServerTerminate:
    case State::ClientTerminate:
      return error(ErrorKind::Refused, "it ended the test");
    default:
      return error(ErrorKind::Malformed,
                   fmt::format("it sent {} where another state was expected", name_of(state)));
  }
}

}  // namespace chokepoint::probe::iperf3
