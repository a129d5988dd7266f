#include "rdma/session/addresses.h"

#include <fmt/format.h>

#include <charconv>

#include "base/control/bodies.h"
#include "base/control/fields.h"
#include "rdma/session/side.h"

namespace chokepoint::rdma::session {
namespace {

using control::Fields;
using control::Json;

constexpr std::int64_t kLargest24 = (std::int64_t{1} << 24) - 1;
constexpr std::int64_t kLargest32 = (std::int64_t{1} << 32) - 1;
constexpr std::size_t kLongestGid = 63;
constexpr std::size_t kHexDigits = 16;

Json queue_body(const verbs::QueueAddress& queue) {
  return Json::array({queue.number, queue.first_packet});
}

Result<verbs::QueueAddress> queue_in(const Json& each) {
  const auto fits = [](const Json& number) {
    return number.is_number_unsigned() && number.get<std::uint64_t>() <= kLargest24;
  };
  if (!each.is_array() || each.size() != 2 || !fits(each[0]) || !fits(each[1])) {
    return fail(ErrorKind::Malformed, "read message", "rdma addresses 'queues'",
                "wanted pairs of numbers of 24 bits");
  }
  return verbs::QueueAddress{.number = each[0].get<std::uint32_t>(),
                             .first_packet = each[1].get<std::uint32_t>()};
}

// JSON's numbers end where an address of 64 bits does not.
Result<std::uint64_t> address_in(const std::string& hex) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(hex.data(), hex.data() + hex.size(), value, 16);
  if (hex.empty() || error != std::errc() || end != hex.data() + hex.size()) {
    return fail(ErrorKind::Malformed, "read message", "rdma addresses 'address'",
                "wanted up to 16 hexadecimal digits");
  }
  return value;
}

}  // namespace

Json body_of(const Whereabouts& side) {
  return {{"lid", side.endpoint.lid},
          {"gid", text_of(side.endpoint.gid)},
          {"queues", control::list_body(side.endpoint.queues, queue_body)},
          {"address", fmt::format("{:x}", side.memory.address)},
          {"bytes", side.memory.bytes},
          {"key", side.memory.key}};
}

Result<Whereabouts> whereabouts_in(const Json& body, int queue_pairs) {
  Fields in(body, "rdma addresses");
  Whereabouts side;
  side.endpoint.lid = static_cast<std::uint16_t>(in.integer("lid", 0, 65535));
  const std::string gid = in.text("gid", kLongestGid);
  const std::string address = in.text("address", kHexDigits);
  side.memory.bytes = static_cast<std::uint64_t>(in.integer("bytes", 0, INT64_MAX));
  side.memory.key = static_cast<std::uint32_t>(in.integer("key", 0, kLargest32));
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

}  // namespace chokepoint::rdma::session
