#include "rdma/session/side.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/control/fields.h"
#include "rdma/session/words.h"

namespace chokepoint::rdma::session {
namespace {

using control::Fields;
using control::Json;

constexpr int kLargestMtu = 65536;

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
  SideFacts side{.device = in.text("device", kLongestName),
                 .port = number(in, "port", 1, 255),
                 .netdev = in.text("netdev", kLongestName),
                 .rate = in.text("rate", kLongestName),
                 .ethernet = in.boolean("ethernet"),
                 .gid_index = number(in, "gid_index", 0, 65535),
                 .lid = static_cast<std::uint16_t>(in.integer("lid", 0, 65535)),
                 .active_mtu_bytes = number(in, "active_mtu_bytes", 0, kLargestMtu),
                 .max_mtu_bytes = number(in, "max_mtu_bytes", 0, kLargestMtu)};
  const std::string gid = in.text("gid", kLongestName);
  const std::string type = in.text("gid_type", kLongestName);
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

}  // namespace chokepoint::rdma::session
