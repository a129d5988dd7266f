#include "base/net/http.h"

#include <fmt/format.h>

#include <array>
#include <span>

#include "base/net/resolver.h"
#include "base/net/socket.h"
#include "base/sys/number.h"

namespace chokepoint::net {
namespace {

constexpr std::string_view kLineEnd = "\r\n";
constexpr std::string_view kHeadEnd = "\r\n\r\n";

Error no_answer(std::string reason, const std::string& subject) {
  return {.kind = ErrorKind::Unreachable,
          .operation = "",
          .subject = subject,
          .reason = std::move(reason)};
}

Result<sys::Descriptor> connect_to(const HttpPlace& place, const Deadline& deadline) {
  TRY(const std::vector<Address> addresses, resolve_within(place.host, std::nullopt, deadline));
  Result<sys::Descriptor> connected = fail(no_answer("no address", place.host));
  for (const Address& each : addresses) {
    connected = connect({each, place.port}, {}, deadline);
    if (connected) {
      break;
    }
  }
  return connected;
}

// HTTP/1.0: the answer ends where the connection does, and comes in one piece.
std::string head_of(const HttpPlace& place, const HttpRequest& request) {
  std::string head = fmt::format("{} {} HTTP/1.0\r\nHost: {}\r\nConnection: close\r\n",
                                 request.method, place.path, place.authority());
  if (!request.content_type.empty()) {
    head += fmt::format("Content-Type: {}\r\nContent-Length: {}\r\n", request.content_type,
                        request.body.size());
  }
  return head + std::string(kLineEnd);
}

// "HTTP/1.1 200 OK"
int status_in(std::string_view answer) {
  constexpr std::string_view kVersion = "HTTP/1.";
  constexpr std::size_t kBeforeStatus = 9;
  constexpr std::size_t kDigits = 3;
  if (!answer.starts_with(kVersion) || answer.size() < kBeforeStatus + kDigits) {
    return 0;
  }
  return sys::parse_number<int>(answer.substr(kBeforeStatus, kDigits)).value_or(0);
}

constexpr int kFirstError = 300;

// A server that refuses a request need not read it to its end, and then resets the connection.
bool is_refusal(std::string_view answer) {
  return answer.contains(kHeadEnd) && status_in(answer) >= kFirstError;
}

}  // namespace

std::string HttpPlace::authority() const {
  return host.contains(':') ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

Result<HttpPlace> parse_http(std::string_view url, std::uint16_t default_port) {
  constexpr std::string_view kScheme = "http://";
  const auto wrong = [&](std::string_view why, std::string_view next) {
    return fail(ErrorKind::Usage, "", std::string(url), why, next);
  };
  if (url.starts_with("https://")) {
    return wrong("is https, which is not spoken here", "give a collector of this host or network");
  }
  std::string_view rest = url;
  rest.remove_prefix(rest.starts_with(kScheme) ? kScheme.size() : 0);
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  const auto parsed = parse_host_port(rest.substr(0, slash), default_port);
  const bool is_clean = url.find_first_of(" \t\r\n") == url.npos;
  if (!parsed || parsed->port == 0 || parsed->host.empty() || !is_clean) {
    return wrong("is no address of a server", "give http://HOST:PORT");
  }
  return HttpPlace{.host = parsed->host,
                   .port = parsed->port,
                   .path = slash < rest.size() ? std::string(rest.substr(slash)) : "/"};
}

Result<HttpAnswer> exchange(const HttpPlace& place, const HttpRequest& request,
                            std::size_t most_bytes, const Deadline& deadline) {
  const std::string subject = place.authority();
  TRY(const sys::Descriptor socket, connect_to(place, deadline));
  const std::string head = head_of(place, request);
  Result<> sent = send_all(socket.get(), std::as_bytes(std::span(head)), deadline, subject);
  if (sent) {
    sent = send_all(socket.get(), std::as_bytes(std::span(request.body)), deadline, subject);
  }
  std::string answer;
  std::array<std::byte, 16'384> piece{};
  for (;;) {
    const Result<std::size_t> bytes = receive_some(socket.get(), piece, deadline, subject);
    if (!bytes && !is_refusal(answer)) {
      return fail(bytes.error());
    }
    if (!bytes || *bytes == 0) {
      break;
    }
    answer.append(reinterpret_cast<const char*>(piece.data()), *bytes);
    if (answer.size() > most_bytes) {
      return fail(no_answer("its answer is too long", subject));
    }
  }
  if (!is_refusal(answer)) {
    TRY(std::move(sent));
  }
  const std::size_t end = answer.find(kHeadEnd);
  const int status = status_in(answer);
  if (end == std::string::npos || status == 0) {
    return fail(no_answer("what answers there is no HTTP", subject));
  }
  return HttpAnswer{.status = status, .body = answer.substr(end + kHeadEnd.size())};
}

}  // namespace chokepoint::net
