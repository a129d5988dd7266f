#include "rdma/session/cm_door.h"

#include <fmt/format.h>

#include <charconv>

#include "base/control/fields.h"

namespace chokepoint::rdma::session {
namespace {

using control::Json;

constexpr std::size_t kLongestAddress = 63;

std::string hex_of(const verbs::CmToken& token) {
  std::string text;
  for (const std::uint8_t byte : token) {
    text += fmt::format("{:02x}", byte);
  }
  return text;
}

std::optional<verbs::CmToken> token_in(const std::string& hex) {
  verbs::CmToken token{};
  if (hex.size() != 2 * token.size()) {
    return std::nullopt;
  }
  for (std::size_t i = 0; i < token.size(); ++i) {
    const char* const at = hex.data() + 2 * i;
    const auto [end, error] = std::from_chars(at, at + 2, token[i], 16);
    if (error != std::errc() || end != at + 2) {
      return std::nullopt;
    }
  }
  return token;
}

}  // namespace

net::Address cm_address(const SideFacts& side, const net::Address& control) {
  const net::Address own = address_of(side.gid);
  return side.ethernet && !own.is_link_local() ? own : control.unmapped();
}

Json body_of(const verbs::CmPeer& door) {
  return {{"address", door.address.address.text()},
          {"port", door.address.port},
          {"token", hex_of(door.token)}};
}

Result<verbs::CmPeer> door_in(const Json& body) {
  control::Fields in(body, "rdma cm");
  const std::string address = in.text("address", kLongestAddress);
  const auto port = static_cast<std::uint16_t>(in.integer("port", 1, 65535));
  const std::string hex = in.text("token", 2 * verbs::CmToken{}.size());
  TRY(in.finish(true));
  const Result<net::Address> parsed = net::Address::parse(address);
  const std::optional<verbs::CmToken> token = token_in(hex);
  if (!parsed || !token) {
    return fail(ErrorKind::Malformed, "read message", "rdma cm",
                "wanted an address and a token of 32 hexadecimal digits");
  }
  return verbs::CmPeer{.address = {*parsed, port}, .token = *token};
}

}  // namespace chokepoint::rdma::session
