// One request to an HTTP server and its whole answer: for rare requests, in plain text, to servers
// that are not trusted. Each request has a connection of its own. Blocks up to its deadline; any
// thread.
#pragma once

#include <string>
#include <string_view>

#include "base/net/address.h"
#include "base/net/deadline.h"
#include "base/sys/error.h"

namespace chokepoint::net {

struct HttpPlace {
  std::string host = {};
  std::uint16_t port = 80;
  std::string path = "/";

  std::string authority() const;  // "[::1]:4318"
};

// "http://host:port/path", also without scheme or path. https is refused.
Result<HttpPlace> parse_http(std::string_view url, std::uint16_t default_port);

struct HttpRequest {
  std::string_view method = "GET";
  std::string_view content_type = {};  // empty: it has no body
  std::string_view body = {};
};

struct HttpAnswer {
  int status = 0;
  std::string body = {};
};

// An Error where no server answers, or the answer is not HTTP, or is longer than `most_bytes`. Any
// status is an answer.
Result<HttpAnswer> exchange(const HttpPlace& place, const HttpRequest& request,
                            std::size_t most_bytes, const Deadline& deadline);

}  // namespace chokepoint::net
