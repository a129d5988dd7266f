#include "rdma/session/choose_gid.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <tuple>

#include "rdma/session/words.h"

namespace chokepoint::rdma::session {
namespace {

using host::RdmaGid;
using host::RdmaPort;

constexpr std::size_t kMostListed = 12;

verbs::GidType type_of(const RdmaPort& port, const RdmaGid& gid) {
  if (!host::is_ethernet(port)) {
    return verbs::GidType::InfiniBand;
  }
  return gid.type == "RoCE v2" ? verbs::GidType::RoceV2 : verbs::GidType::RoceV1;
}

// A GID of InfiniBand's own is no address of IPv6, whatever it looks like.
bool fits(const RdmaPort& port, const RdmaGid& gid, const PortWish& wish) {
  if (!host::is_ethernet(port)) {
    return true;
  }
  return (!wish.type || *wish.type == verbs::GidType::InfiniBand ||
          type_of(port, gid) == *wish.type) &&
         (!wish.family || gid.address.unmapped().family() == *wish.family);
}

bool better(const RdmaPort& port, const RdmaGid& a, const RdmaGid& b, const net::Address& control) {
  const auto rank = [&](const RdmaGid& gid) {
    const net::Address address = gid.address.unmapped();
    return std::tuple(type_of(port, gid) == verbs::GidType::RoceV2,
                      address.bytes() == control.unmapped().bytes(), !address.is_link_local(),
                      address.family() == control.unmapped().family(), -gid.index);
  };
  return rank(a) > rank(b);
}

std::string wish_text(const PortWish& wish) {
  std::string text = wish.type ? std::string(name_of(*wish.type)) : "RDMA";
  if (wish.family) {
    text += *wish.family == net::Family::Ipv4 ? " over IPv4" : " over IPv6";
  }
  return text;
}

}  // namespace

std::string list_gids(const RdmaPort& port) {
  std::vector<std::string> texts;
  for (const RdmaGid& gid : port.gids) {
    if (texts.size() == kMostListed) {
      texts.emplace_back("…");
      break;
    }
    texts.push_back(fmt::format("{} {} ({})", gid.index, gid.address.unmapped().text(),
                                name_of(type_of(port, gid))));
  }
  return texts.empty() ? "none" : fmt::format("{}", fmt::join(texts, ", "));
}

Result<int> choose_gid(const host::RdmaDevice& device, const RdmaPort& port, const PortWish& wish,
                       const net::Address& control) {
  const std::string name = fmt::format("{} port {}", device.name, port.number);
  if (wish.gid_index) {
    if (std::ranges::find(port.gids, *wish.gid_index, &RdmaGid::index) != port.gids.end()) {
      return *wish.gid_index;
    }
    return fail(ErrorKind::Usage, "", fmt::format("GID index {} of {}", *wish.gid_index, name),
                "there is no such GID", fmt::format("choose of: {}", list_gids(port)));
  }
  const RdmaGid* best = nullptr;
  for (const RdmaGid& gid : port.gids) {
    if (fits(port, gid, wish) && (best == nullptr || better(port, gid, *best, control))) {
      best = &gid;
    }
  }
  if (best == nullptr && !host::is_ethernet(port)) {
    return 0;
  }
  if (best == nullptr) {
    return fail(ErrorKind::NotFound, "", name,
                fmt::format("no GID of it is for {}: {}", wish_text(wish), list_gids(port)),
                port.gids.empty() ? "give its network interface an address"
                                  : "give its network interface an address of that family, or ask "
                                    "for another one (--gid-family, --roce)");
  }
  return best->index;
}

}  // namespace chokepoint::rdma::session
