#include "capture/live/metrics_address.h"

#include <charconv>
#include <cstdint>
#include <memory>
#include <string_view>

#include "base/net/address.h"
#include "base/net/socket.h"

namespace chokepoint::capture::live {
namespace {

constexpr const char* kOperation = "--metrics";
constexpr const char* kForms =
    "write it like :9464 (all addresses), 9464 (this host alone) or 10.0.0.1:9464";

std::unexpected<Error> bad(const std::string& text, std::string_view reason) {
  return fail(ErrorKind::Usage, kOperation, text, reason, kForms);
}

std::optional<std::uint16_t> port_of(std::string_view digits) {
  std::uint16_t port = 0;
  const char* const end = std::to_address(digits.end());
  const auto [stop, error] = std::from_chars(std::to_address(digits.begin()), end, port);
  return error == std::errc() && stop == end ? std::optional(port) : std::nullopt;
}

Result<net::Address> address_of(const std::string& text, const std::string& host) {
  if (host.starts_with('[')) {
    return bad(text, "the web server that prometheus-cpp stands on knows IPv4 alone");
  }
  auto addresses = net::resolve(host, net::Family::Ipv4);
  if (!addresses) {
    return bad(text, addresses.error().reason);
  }
  return addresses->front();
}

}  // namespace

Result<net::Endpoint> parse_metrics_address(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  const bool has_host = colon != std::string::npos;
  const auto port = port_of(std::string_view(text).substr(has_host ? colon + 1 : 0));
  if (!port) {
    return bad(text, "not a port");
  }
  std::string host = has_host ? text.substr(0, colon) : "127.0.0.1";
  if (host.empty()) {
    host = "0.0.0.0";
  }
  TRY(const auto address, address_of(text, host));
  return net::Endpoint{address, *port};
}

Result<> try_to_listen(const net::Endpoint& endpoint) {
  const auto listener = net::listen(endpoint, 1, {});
  if (listener) {
    return {};
  }
  Error error = listener.error();
  error.operation = kOperation;
  error.subject = endpoint.text();
  if (error.next_step.empty()) {
    error.next_step = "choose another port, or an address of this host";
  }
  return fail(std::move(error));
}

}  // namespace chokepoint::capture::live
