#include "base/net/page_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/net/socket.h"

namespace chokepoint::net {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

constexpr std::chrono::seconds kPatience{10};

Endpoint any_port() { return {*Address::parse("127.0.0.1"), 0}; }

sys::Descriptor sent(int port, std::string_view text) {
  const Deadline deadline = Deadline::of(kPatience);
  auto connection =
      connect({*Address::parse("127.0.0.1"), static_cast<std::uint16_t>(port)}, {}, deadline);
  EXPECT_TRUE(connection);
  EXPECT_TRUE(send_all(connection->get(), std::as_bytes(std::span(text)), deadline, ""));
  return std::move(*connection);
}

std::string received(const sys::Descriptor& connection) {
  const Deadline deadline = Deadline::of(kPatience);
  std::string response;
  std::array<std::byte, 4096> piece{};
  for (;;) {
    const auto count = receive_some(connection.get(), piece, deadline, "");
    if (!count || *count == 0) {
      return response;
    }
    response.append(reinterpret_cast<const char*>(piece.data()), *count);
  }
}

std::string exchanged(int port, std::string_view text) { return received(sent(port, text)); }

TEST(PageServer, TakesARequestApart) {
  std::vector<std::string> seen;
  const auto server =
      PageServer::start(any_port(), [&](const PageRequest& request, const PageReply& reply) {
        for (const char* name : {"host", "Cookie", "X-Twice"}) {
          seen.emplace_back(request.header(name).value_or("none"));
        }
        reply({.body = std::string(request.path) + "|" + std::string(request.query),
               .headers = "X-Own: 1\r\n"});
      });
  ASSERT_TRUE(server);
  const std::string response = exchanged(
      (*server)->port(),
      "GET /a?b=c?d HTTP/1.1\r\nHOST:  here \r\nX-Twice: 1\r\nx-twice: 2\r\nCookies: no\r\n\r\n");
  EXPECT_THAT(response, HasSubstr("\r\nX-Own: 1\r\n"));
  EXPECT_THAT(response, EndsWith("\r\n\r\n/a|b=c?d"));
  EXPECT_EQ(seen, (std::vector<std::string>{"here", "none", "none"}));
}

TEST(PageServer, RefusesWhatIsNoRequest) {
  const auto server =
      PageServer::start(any_port(), [](const PageRequest&, const PageReply& reply) { reply({}); });
  ASSERT_TRUE(server);
  const int port = (*server)->port();
  EXPECT_THAT(exchanged(port, "GET\r\n\r\n"), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(exchanged(port, "GET / SPDY/3\r\n\r\n"), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(exchanged(port, "GET /" + std::string(9000, 'x') + " HTTP/1.1\r\n"),
              StartsWith("HTTP/1.1 400"));
}

TEST(PageServer, AClientThatWaitsHoldsUpNoOther) {
  std::mutex mutex;
  std::condition_variable news;
  std::optional<PageReply> late;
  auto server = PageServer::start(
      any_port(),
      [&](const PageRequest& request, const PageReply& reply) {
        if (request.path != "/late") {
          return reply({.body = "soon"});
        }
        const std::scoped_lock lock(mutex);
        late = reply;
        news.notify_all();
      },
      std::chrono::milliseconds(200));
  ASSERT_TRUE(server);
  const int port = (*server)->port();
  const sys::Descriptor waiting = sent(port, "GET /late HTTP/1.1\r\n\r\n");
  {
    std::unique_lock lock(mutex);
    ASSERT_TRUE(news.wait_for(lock, kPatience, [&] { return late.has_value(); }));
  }
  EXPECT_THAT(exchanged(port, "GET / HTTP/1.1\r\n\r\n"), EndsWith("soon"));
  // Longer than a client has for its request, or for its response.
  std::this_thread::sleep_for(std::chrono::milliseconds(400));
  std::thread([reply = *late] {
    reply({.body = "at last"});
    reply({.body = "again"});
  }).join();
  EXPECT_THAT(received(waiting), EndsWith("\r\n\r\nat last"));
  server->reset();
  (*late)({.body = "to nobody"});
}

TEST(PageServer, AClientThatIsSlowIsLeft) {
  const auto server = PageServer::start(
      any_port(), [](const PageRequest&, const PageReply& reply) { reply({}); },
      std::chrono::milliseconds(50));
  ASSERT_TRUE(server);
  EXPECT_THAT(exchanged((*server)->port(), "GET / HT"), IsEmpty());
}

}  // namespace
}  // namespace chokepoint::net
