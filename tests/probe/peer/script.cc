#include "tests/probe/peer/script.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <array>
#include <chrono>

namespace chokepoint::peers {
namespace {

net::Deadline deadline() { return net::Deadline::of(std::chrono::seconds(10)); }

}  // namespace

Script Script::to(const net::Endpoint& server) {
  Result<sys::Descriptor> fd = net::connect(server, {}, deadline());
  EXPECT_TRUE(fd) << describe(fd.error());
  return Script(std::move(*fd));
}

Script& Script::say(std::string_view text) {
  static_cast<void>(net::send_all(fd_.get(), std::as_bytes(std::span(text)), deadline(), "script"));
  return *this;
}

std::string Script::hear(std::size_t count) {
  std::string text;
  while (text.size() < count) {
    std::array<char, 256> buffer{};
    const auto room = std::as_writable_bytes(std::span(buffer))
                          .first(std::min(buffer.size(), count - text.size()));
    const Result<std::size_t> got = net::receive_some(fd_.get(), room, deadline(), "script");
    if (!got || *got == 0) {
      break;
    }
    text.append(buffer.data(), *got);
  }
  return text;
}

std::uint16_t Script::port() const {
  const Result<net::Endpoint> local = net::local_endpoint(fd_.get());
  return local ? local->port : 0;
}

bool Script::is_closed() {
  std::byte byte{};
  const Result<std::size_t> got =
      net::receive_some(fd_.get(), std::span(&byte, 1), deadline(), "script");
  return got ? *got == 0 : got.error().kind != ErrorKind::Timeout;
}

Listener::Listener() {
  Result<sys::Descriptor> made = net::listen({*net::Address::parse("127.0.0.1"), 0}, 16, {});
  EXPECT_TRUE(made) << describe(made.error());
  fd = std::move(*made);
  at = *net::local_endpoint(fd.get());
}

Script Listener::accept() const {
  EXPECT_TRUE(net::wait_for(fd.get(), POLLIN, deadline(), "accept", "script"));
  Result<std::optional<sys::Descriptor>> taken = net::accept(fd.get());
  EXPECT_TRUE(taken && *taken);
  return Script(std::move(**taken));
}

}  // namespace chokepoint::peers
