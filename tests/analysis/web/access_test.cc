#include "analysis/web/access.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace chokepoint::analysis::web {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::string kRight = "0123456789abcdef";

struct Asked {
  std::string_view method = "GET";
  std::string_view path = "/";
  std::string_view query = {};
  std::string host = "127.0.0.1:9480";
  std::string more = {};
};

std::optional<net::Page> intercepted(const Access& access, const Asked& asked) {
  const std::string lines = (asked.host.empty() ? "" : "Host: " + asked.host + "\r\n") + asked.more;
  return access.intercept(
      {.method = asked.method, .path = asked.path, .query = asked.query, .lines = lines});
}

std::string status(const Access& access, const Asked& asked) {
  const auto page = intercepted(access, asked);
  return page ? page->status.substr(0, 3) : "";
}

const Access& open_to_all() {
  static const Access access({.host_name = "gpu1", .port = 9480});
  return access;
}

TEST(Access, OnlyReadsAreServed) {
  EXPECT_EQ(status(open_to_all(), {}), "");
  EXPECT_EQ(status(open_to_all(), {.method = "HEAD"}), "");
  for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS", "get", ""}) {
    EXPECT_EQ(status(open_to_all(), {.method = method}), "405") << method;
  }
  EXPECT_EQ(status(open_to_all(), {.path = "http://127.0.0.1/"}), "400");
}

// Anybody can own a domain with this host's name in it; the token is what he lacks.
TEST(Access, ThisHostInADomainNeedsAToken) {
  const Access access({.token = "0123456789abcdef", .host_name = "gpu1", .port = 9480});
  EXPECT_EQ(status(access, {.host = "gpu1.example.org:9480"}), "401");
  EXPECT_EQ(status(access, {.host = "gpu2.example.org:9480"}), "421");
}

TEST(Access, AForeignHostIsRefused) {
  for (const char* host :
       {"localhost", "LOCALHOST:80", "127.0.0.1", "[::1]:9480", "gpu1", "GPU1:9480", "192.0.2.7"}) {
    EXPECT_EQ(status(open_to_all(), {.host = host}), "") << host;
  }
  for (const char* host : {"evil.example", "localhost.evil.example", "gpu1.evil.example", "gpu12",
                           "gpu1evil.example", "127.0.0.1.evil.example:9480"}) {
    EXPECT_EQ(status(open_to_all(), {.host = host}), "421") << host;
  }
  for (const char* host : {"", "localhost:port", "a b", "gpu1/x", "user@gpu1"}) {
    EXPECT_EQ(status(open_to_all(), {.host = host}), "400") << host;
  }
  EXPECT_EQ(status(open_to_all(), {.more = "host: localhost\r\n"}), "400");
}

TEST(Access, AnotherSiteMayOpenTheStartPageAlone) {
  const std::string other = "Sec-Fetch-Site: cross-site\r\n";
  EXPECT_EQ(status(open_to_all(), {.more = other}), "");
  EXPECT_EQ(status(open_to_all(), {.path = "/report", .more = other}), "403");
  EXPECT_EQ(status(open_to_all(), {.path = "/report", .more = "Sec-Fetch-Site: none\r\n"}), "");
}

std::string cookie_of(const net::Page& page) {
  const std::size_t begin = page.headers.find("Set-Cookie: ") + 12;
  return page.headers.substr(begin, page.headers.find(';', begin) - begin);
}

TEST(Access, ATokenIsAskedForOnce) {
  const Access access({.token = kRight, .host_name = "gpu1", .port = 9480});
  for (const char* query : {"", "token=", "token=0123456789abcdeF", "token=0123456789abcde",
                            "token=0123456789abcdef0", "Token=0123456789abcdef"}) {
    EXPECT_EQ(status(access, {.query = query}), "401") << query;
  }
  const auto page = intercepted(access, {.query = "x=1&token=" + kRight});
  ASSERT_TRUE(page);
  EXPECT_EQ(page->status, "303 See Other");
  EXPECT_THAT(page->headers, HasSubstr("Location: /\r\n"));
  EXPECT_THAT(page->headers, HasSubstr("; HttpOnly; SameSite=Strict; Path=/\r\n"));
  EXPECT_THAT(page->headers, Not(HasSubstr(kRight)));
  const std::string cookie = cookie_of(*page);
  EXPECT_EQ(status(access, {.path = "/data/fleet", .more = "Cookie: " + cookie + "\r\n"}), "");
  EXPECT_EQ(status(access, {.more = "Cookie: a=b; " + cookie + "; c=d\r\n"}), "");
  EXPECT_EQ(status(access, {.more = "Cookie: " + cookie + "0\r\n"}), "401");
  EXPECT_EQ(status(access, {.more = "Cookie: " + cookie.substr(0, cookie.find('=')) + "\r\n"}),
            "401");
}

TEST(Access, ACookieIsOfOneServer) {
  const Access one({.token = kRight, .port = 9480});
  const Access other({.token = kRight, .port = 9480});
  const std::string cookie = cookie_of(*intercepted(one, {.query = "token=" + kRight}));
  EXPECT_EQ(status(other, {.more = "Cookie: " + cookie + "\r\n"}), "401");
}

TEST(Access, WhatIsRefusedSaysItSafely) {
  const auto page = intercepted(open_to_all(), {.method = "POST"});
  ASSERT_TRUE(page);
  for (const char* header :
       {"Content-Security-Policy: default-src 'none'", "X-Content-Type-Options: nosniff",
        "Referrer-Policy: no-referrer", "Cache-Control: no-store"}) {
    EXPECT_THAT(page->headers, HasSubstr(header));
  }
}

}  // namespace
}  // namespace chokepoint::analysis::web
