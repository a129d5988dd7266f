#include "rdma/session/side.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/control/bodies.h"
#include "base/json/codec.h"
#include "base/sys/number.h"
#include "rdma/session/parameters.h"

namespace chokepoint::rdma::session {
namespace {

// A number of 64 bits as text: a JSON number is kept as a double by many readers.
struct HexNumber {
  std::uint64_t value = 0;
};

// SideAddresses as a message has them.
struct AddressesBody {
  std::uint16_t lid = 0;
  verbs::Gid gid = {};
  std::vector<std::vector<std::uint32_t>> queues = {};
  HexNumber address = {};
  std::uint64_t bytes = 0;
  std::uint32_t key = 0;
};

}  // namespace
}  // namespace chokepoint::rdma::session

namespace chokepoint {

template <>
struct TextForm<rdma::verbs::Gid> {
  static constexpr std::string_view kWhat = "a GID";
  static std::string text(const rdma::verbs::Gid& gid) { return rdma::session::text_of(gid); }
  static std::optional<rdma::verbs::Gid> parsed(std::string_view text) {
    const Result<net::Address> address = net::Address::parse(text);
    return address ? std::optional(rdma::session::gid_of(*address)) : std::nullopt;
  }
};

template <>
struct TextForm<rdma::session::HexNumber> {
  using Number = rdma::session::HexNumber;
  static constexpr std::string_view kWhat = "up to 16 hexadecimal digits";
  static std::string text(const Number& number) { return fmt::format("{:x}", number.value); }
  static std::optional<Number> parsed(std::string_view text) {
    const auto value = sys::parse_number<std::uint64_t>(text, 16);
    return value && text.size() <= 16 ? std::optional(Number{*value}) : std::nullopt;
  }
};

template <>
struct TextForm<rdma::verbs::CmToken> {
  using Token = rdma::verbs::CmToken;
  static constexpr std::string_view kWhat = "32 hexadecimal digits";
  static std::string text(const Token& token) { return control::to_hex(token.bytes); }
  static std::optional<Token> parsed(std::string_view text) {
    Token token;
    if (text.size() != 2 * token.bytes.size()) {
      return std::nullopt;
    }
    for (std::size_t i = 0; i < token.bytes.size(); ++i) {
      const auto byte = sys::parse_number<std::uint8_t>(text.substr(2 * i, 2), 16);
      if (!byte) {
        return std::nullopt;
      }
      token.bytes[i] = *byte;
    }
    return token;
  }
};

template <>
struct Fields<rdma::verbs::DeviceLimits> {
  using L = rdma::verbs::DeviceLimits;
  static constexpr FieldList kList{
      field("queue_pairs", &L::queue_pairs, "most queue pairs of the device").at_least(0),
      field("depth", &L::depth, "most requests of one queue").at_least(0),
      field("completions", &L::completions, "most completions of one queue").at_least(0),
      field("reads_as_target", &L::reads_as_target,
            "most reads and atomics that one queue pair answers at once")
          .at_least(0),
      field("reads_as_source", &L::reads_as_source,
            "most reads and atomics that one queue pair requests at once")
          .at_least(0),
      field("atomics", &L::atomics, "whether the device has atomic operations")};
};

template <>
struct Fields<rdma::session::SideFacts> {
  using S = rdma::session::SideFacts;
  static constexpr std::size_t kMaxName = rdma::session::kMaxNameLength;
  static constexpr FieldList kList{
      field("device", &S::device, "name of the device").up_to_bytes(kMaxName),
      field("port", &S::port, "port of the device").between(1, 255),
      field("netdev", &S::netdev, "the port's interface; empty: none is known")
          .up_to_bytes(kMaxName),
      field("rate", &S::rate, "rate of the port, as the kernel writes it; empty: unknown")
          .up_to_bytes(kMaxName),
      field("ethernet", &S::ethernet, "whether the port is RoCE, else InfiniBand"),
      field("gid_index", &S::gid_index, "index in the port's GID table").between(0, 65535),
      field("gid", &S::gid, "the port's GID, as an IP address").up_to_bytes(kMaxName),
      field("gid_type", &S::gid_type, "type of the GID"),
      field("lid", &S::lid, "local identifier of an InfiniBand port; else 0"),
      field("active_mtu_bytes", &S::active_mtu_bytes, "MTU that the port uses").between(0, 65536),
      field("max_mtu_bytes", &S::max_mtu_bytes, "largest MTU that the port offers")
          .between(0, 65536),
      field("limits", &S::limits, "most that the device allows")};
};

template <>
struct Fields<rdma::session::AddressesBody> {
  using A = rdma::session::AddressesBody;
  static constexpr FieldList kList{
      field("lid", &A::lid, "local identifier of an InfiniBand port; else 0"),
      field("gid", &A::gid, "the port's GID, as an IP address")
          .up_to_bytes(rdma::session::kMaxNameLength),
      field("queues", &A::queues, "number and first packet number of each queue pair")
          .between(0, (1U << 24U) - 1)
          .up_to_items(rdma::session::kMaxQueuePairs),
      field("address", &A::address, "address of the buffer, hexadecimal"),
      field("bytes", &A::bytes, "size of the buffer").at_most(kMaxCount),
      field("key", &A::key, "key that a request names to reach the buffer")};

  static const char* wrong(const A& addresses) {
    const bool are_pairs =
        std::ranges::all_of(addresses.queues, [](const auto& queue) { return queue.size() == 2; });
    return are_pairs ? nullptr : "pairs of numbers as queues";
  }
};

template <>
struct Fields<rdma::verbs::CmPeer> {
  using P = rdma::verbs::CmPeer;
  static constexpr FieldList kList{
      within(&P::address,
             field("address", &net::Endpoint::address, "address where the side listens")),
      within(&P::address,
             field("port", &net::Endpoint::port, "port where the side listens").at_least(1)),
      field("token", &P::token, "secret that a request for a connection shows")};
};

}  // namespace chokepoint

namespace chokepoint::rdma::session {

using control::Json;

net::Address address_of(const verbs::Gid& gid) {
  in6_addr raw{};
  static_assert(sizeof(raw) == sizeof(gid.bytes));
  std::memcpy(&raw, gid.bytes.data(), sizeof(raw));
  return net::Address::v6(raw, 0).unmapped();
}

verbs::Gid gid_of(const net::Address& address) {
  if (address.family() == net::Family::Ipv6) {
    return {address.bytes()};
  }
  verbs::Gid gid;
  gid.bytes[10] = gid.bytes[11] = 0xff;
  std::copy_n(address.bytes().begin(), 4, gid.bytes.begin() + 12);
  return gid;
}

std::string text_of(const verbs::Gid& gid) { return address_of(gid).text(); }

const Json& object_in(const Json& message, const char* name) {
  static const Json none;
  const auto at = message.find(name);
  return at == message.end() ? none : *at;
}

Json body_of(const SideFacts& side) { return json::to_json(side); }

Result<SideFacts> side_in(const Json& body) {
  return json::from_json<SideFacts>(body, "rdma side");
}

Json body_of(const SideAddresses& side) {
  AddressesBody body{.lid = side.endpoint.lid,
                     .gid = side.endpoint.gid,
                     .address = {side.memory.address},
                     .bytes = side.memory.bytes,
                     .key = side.memory.key};
  for (const verbs::QueueAddress& queue : side.endpoint.queues) {
    body.queues.push_back({queue.number, queue.first_packet});
  }
  return json::to_json(body);
}

Result<SideAddresses> side_addresses_in(const Json& json, int queue_pairs) {
  TRY(const auto body, json::from_json<AddressesBody>(json, "rdma addresses"));
  if (std::cmp_not_equal(body.queues.size(), queue_pairs)) {
    return fail(ErrorKind::Malformed, "read message", "rdma addresses 'queues'",
                fmt::format("wanted {} of them", queue_pairs));
  }
  SideAddresses side{
      .endpoint = {.lid = body.lid, .gid = body.gid},
      .memory = {.address = body.address.value, .bytes = body.bytes, .key = body.key}};
  for (const std::vector<std::uint32_t>& queue : body.queues) {
    side.endpoint.queues.push_back({.number = queue[0], .first_packet = queue[1]});
  }
  return side;
}

net::Address cm_address(const SideFacts& side, const net::Address& control) {
  const net::Address own = address_of(side.gid);
  return side.ethernet && !own.is_link_local() ? own : control.unmapped();
}

Json body_of(const verbs::CmPeer& cm_peer) { return json::to_json(cm_peer); }

Result<verbs::CmPeer> cm_peer_in(const Json& body) {
  return json::from_json<verbs::CmPeer>(body, "rdma cm");
}

}  // namespace chokepoint::rdma::session
