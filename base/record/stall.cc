#include "base/record/stall.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "base/json/codec.h"

namespace chokepoint::record {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 20;
constexpr const char* kWhat = "detail of a stall";

}  // namespace

const StallCollective* entered(const StallRank& rank) {
  const auto found = std::ranges::find(rank.collectives, true, &StallCollective::is_entered);
  return found == rank.collectives.end() ? nullptr : &*found;
}

const StallCollective* waited_for(const StallRank& rank) {
  const auto found = std::ranges::find_if(rank.collectives, [](const StallCollective& each) {
    return !each.is_entered && each.is_peer_there;
  });
  return found == rank.collectives.end() ? nullptr : &*found;
}

std::string text_of(const StallCollective& collective) {
  return fmt::format("{} {}", collective.kind, collective.number);
}

std::string text_of(const Stall& stall) {
  return json::to_json(stall).dump(-1, ' ', false, json::Json::error_handler_t::replace);
}

std::optional<Stall> stall_in(std::string_view detail) {
  const auto body = json::parse_object(detail, kMostBytes, kWhat);
  auto stall = body ? json::from_json<Stall>(*body, kWhat) : fail(body.error());
  return stall ? std::optional(*std::move(stall)) : std::nullopt;
}

}  // namespace chokepoint::record
