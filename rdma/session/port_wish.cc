#include "rdma/session/port_wish.h"

#include "base/control/bodies.h"
#include "base/control/fields.h"
#include "rdma/session/words.h"

namespace chokepoint::rdma::session {
namespace {

using control::Json;

constexpr int kMostPorts = 255;
constexpr int kMostGids = 65535;

std::optional<int> as_int(std::optional<std::int64_t> value) {
  return value ? std::optional(static_cast<int>(*value)) : std::nullopt;
}

}  // namespace

Json body_of(const PortWish& wish) {
  return {{"device", wish.device},
          {"port", control::or_null(wish.port)},
          {"gid_index", control::or_null(wish.gid_index)},
          {"family", wish.family ? net::name_of(*wish.family) : std::string_view()},
          {"gid_type", wish.type ? name_of(*wish.type) : std::string_view()}};
}

Result<PortWish> port_wish_in(const Json& body) {
  control::Fields in(body, "rdma port");
  PortWish wish{.device = in.text("device", kLongestName),
                .port = as_int(in.maybe_integer("port", 1, kMostPorts)),
                .gid_index = as_int(in.maybe_integer("gid_index", 0, kMostGids))};
  const std::string family = in.text("family", kLongestName);
  const std::string type = in.text("gid_type", kLongestName);
  if (family == "ipv4" || family == "ipv6") {
    wish.family = family == "ipv4" ? net::Family::Ipv4 : net::Family::Ipv6;
  }
  if (!type.empty()) {
    TRY(const verbs::GidType known, gid_type_named(type));
    wish.type = known;
  }
  return in.finish(std::move(wish));
}

}  // namespace chokepoint::rdma::session
