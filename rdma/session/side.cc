#include "rdma/session/side.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "base/control/bodies.h"
#include "base/control/fields.h"
#include "rdma/session/parameters.h"

namespace chokepoint::rdma::session {
namespace {

using control::Fields;
using control::Json;

constexpr int kMaxMtu = 65536;

int number(Fields& in, const char* name, int least, int most) {
  return static_cast<int>(in.integer(name, least, most));
}

Json limits_body(const verbs::DeviceLimits& limits) {
  return {{"queue_pairs", limits.queue_pairs},         {"depth", limits.depth},
          {"completions", limits.completions},         {"reads_as_target", limits.reads_as_target},
          {"reads_as_source", limits.reads_as_source}, {"atomics", limits.atomics}};
}

Result<verbs::DeviceLimits> limits_in(const Json& body) {
  Fields in(body, "rdma limits");
  return in.finish(
      verbs::DeviceLimits{.queue_pairs = number(in, "queue_pairs", 0, INT32_MAX),
                          .depth = number(in, "depth", 0, INT32_MAX),
                          .completions = number(in, "completions", 0, INT32_MAX),
                          .reads_as_target = number(in, "reads_as_target", 0, INT32_MAX),
                          .reads_as_source = number(in, "reads_as_source", 0, INT32_MAX),
                          .atomics = in.boolean("atomics")});
}

constexpr std::int64_t kMax24Bits = (std::int64_t{1} << 24) - 1;
constexpr std::int64_t kMax32Bits = (std::int64_t{1} << 32) - 1;
constexpr std::size_t kHexDigits = 16;

Json queue_body(const verbs::QueueAddress& queue) {
  return Json::array({queue.number, queue.first_packet});
}

Result<verbs::QueueAddress> queue_in(const Json& each) {
  const auto fits = [](const Json& number) {
    return number.is_number_unsigned() && number.get<std::uint64_t>() <= kMax24Bits;
  };
  if (!each.is_array() || each.size() != 2 || !fits(each[0]) || !fits(each[1])) {
    return fail(ErrorKind::Malformed, "read message", "rdma addresses 'queues'",
                "wanted pairs of numbers of 24 bits");
  }
  return verbs::QueueAddress{.number = each[0].get<std::uint32_t>(),
                             .first_packet = each[1].get<std::uint32_t>()};
}

// Addresses are text: a JSON number cannot hold 64 bits.
Result<std::uint64_t> address_in(const std::string& hex) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(hex.data(), hex.data() + hex.size(), value, 16);
  if (hex.empty() || error != std::errc() || end != hex.data() + hex.size()) {
    return fail(ErrorKind::Malformed, "read message", "rdma addresses 'address'",
                "wanted up to 16 hexadecimal digits");
  }
  return value;
}

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

net::Address address_of(const verbs::Gid& gid) {
  in6_addr raw{};
  static_assert(sizeof(raw) == std::tuple_size_v<verbs::Gid>);
  std::memcpy(&raw, gid.data(), sizeof(raw));
  return net::Address::v6(raw, 0).unmapped();
}

verbs::Gid gid_of(const net::Address& address) {
  verbs::Gid gid{};
  if (address.family() == net::Family::Ipv6) {
    return address.bytes();
  }
  gid[10] = gid[11] = 0xff;
  std::copy_n(address.bytes().begin(), 4, gid.begin() + 12);
  return gid;
}

std::string text_of(const verbs::Gid& gid) { return address_of(gid).text(); }

Json body_of(const SideFacts& side) {
  return {{"device", side.device},
          {"port", side.port},
          {"netdev", side.netdev},
          {"rate", side.rate},
          {"ethernet", side.ethernet},
          {"gid_index", side.gid_index},
          {"gid", text_of(side.gid)},
          {"gid_type", name_of(side.gid_type)},
          {"lid", side.lid},
          {"active_mtu_bytes", side.active_mtu_bytes},
          {"max_mtu_bytes", side.max_mtu_bytes},
          {"limits", limits_body(side.limits)}};
}

Result<SideFacts> side_in(const Json& body) {
  Fields in(body, "rdma side");
  SideFacts side{.device = in.text("device", kMaxNameLength),
                 .port = number(in, "port", 1, 255),
                 .netdev = in.text("netdev", kMaxNameLength),
                 .rate = in.text("rate", kMaxNameLength),
                 .ethernet = in.boolean("ethernet"),
                 .gid_index = number(in, "gid_index", 0, 65535),
                 .lid = static_cast<std::uint16_t>(in.integer("lid", 0, 65535)),
                 .active_mtu_bytes = number(in, "active_mtu_bytes", 0, kMaxMtu),
                 .max_mtu_bytes = number(in, "max_mtu_bytes", 0, kMaxMtu)};
  const std::string gid = in.text("gid", kMaxNameLength);
  const std::string type = in.text("gid_type", kMaxNameLength);
  const Result<verbs::DeviceLimits> limits = limits_in(in.object("limits"));
  TRY(in.finish(true));
  const Result<net::Address> address = net::Address::parse(gid);
  const Result<verbs::GidType> known = gid_type_named(type);
  if (!limits || !known || !address) {
    return std::unexpected(!limits ? limits.error() : !known ? known.error() : address.error());
  }
  side.gid = gid_of(*address);
  side.gid_type = *known;
  side.limits = *limits;
  return side;
}

Json body_of(const SideAddresses& side) {
  return {{"lid", side.endpoint.lid},
          {"gid", text_of(side.endpoint.gid)},
          {"queues", control::list_body(side.endpoint.queues, queue_body)},
          {"address", fmt::format("{:x}", side.memory.address)},
          {"bytes", side.memory.bytes},
          {"key", side.memory.key}};
}

Result<SideAddresses> side_addresses_in(const Json& body, int queue_pairs) {
  Fields in(body, "rdma addresses");
  SideAddresses side;
  side.endpoint.lid = static_cast<std::uint16_t>(in.integer("lid", 0, 65535));
  const std::string gid = in.text("gid", kMaxNameLength);
  const std::string address = in.text("address", kHexDigits);
  side.memory.bytes = static_cast<std::uint64_t>(in.integer("bytes", 0, INT64_MAX));
  side.memory.key = static_cast<std::uint32_t>(in.integer("key", 0, kMax32Bits));
  TRY(in.finish(true));
  Result<std::vector<verbs::QueueAddress>> queues =
      control::list_in<verbs::QueueAddress>(body, "queues", queue_in);
  const Result<net::Address> parsed = net::Address::parse(gid);
  const Result<std::uint64_t> at = address_in(address);
  if (!queues || !parsed || !at) {
    return std::unexpected(!queues ? queues.error() : !parsed ? parsed.error() : at.error());
  }
  if (static_cast<int>(queues->size()) != queue_pairs) {
    return fail(ErrorKind::Malformed, "read message", "rdma addresses 'queues'",
                fmt::format("wanted {} of them", queue_pairs));
  }
  side.endpoint.gid = gid_of(*parsed);
  side.endpoint.queues = std::move(*queues);
  side.memory.address = *at;
  return side;
}

net::Address cm_address(const SideFacts& side, const net::Address& control) {
  const net::Address own = address_of(side.gid);
  return side.ethernet && !own.is_link_local() ? own : control.unmapped();
}

Json body_of(const verbs::CmPeer& cm_peer) {
  return {{"address", cm_peer.address.address.text()},
          {"port", cm_peer.address.port},
          {"token", hex_of(cm_peer.token)}};
}

Result<verbs::CmPeer> cm_peer_in(const Json& body) {
  control::Fields in(body, "rdma cm");
  const std::string address = in.text("address", kMaxNameLength);
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
