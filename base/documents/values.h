// What documents and messages are made of: a distribution, an address, a test's direction.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/json/fields.h"
#include "base/math/statistics.h"
#include "base/net/address.h"
#include "base/sys/clock.h"

namespace chokepoint {

namespace documents {

// Which way a test goes, as its client sees it: Send means from the client to the server.
enum class Direction { Send, Receive, Both };

// A moment of the wall clock.
struct WallTime {
  std::int64_t ns = 0;  // since 1970
};

// nullopt, and so null in a document, where nothing was measured.
inline std::optional<math::Distribution> if_measured(const math::Distribution& values) {
  return values.count == 0 ? std::nullopt : std::optional(values);
}

}  // namespace documents

template <>
struct EnumNames<documents::Direction> {
  using enum documents::Direction;
  static constexpr std::string_view kWhat = "send, receive or both";
  static constexpr auto kNames = std::to_array<EnumName<documents::Direction>>(
      {{Send, "send"}, {Receive, "receive"}, {Both, "both"}});
};

// Always written as a whole number; its reader gives the range, which differs.
template <>
struct Fields<math::Distribution> {
  using D = math::Distribution;
  static constexpr FieldList kList{
      field("min", &D::min),   field("median", &D::median),
      field("p99", &D::p99),   field("max", &D::max),
      field("mean", &D::mean), field("count", &D::count).at_most(kMaxCount)};
};

template <>
struct TextForm<documents::WallTime> {
  static constexpr std::string_view kWhat = "a moment; RFC 3339, UTC";
  static constexpr std::string_view kFormat = "date-time";
  static constexpr std::string_view kPattern =
      "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}[.][0-9]{3}Z$";
  static std::string text(documents::WallTime time) { return sys::rfc3339(time.ns); }
};

template <>
struct TextForm<net::Address> {
  static constexpr std::string_view kWhat = "an IP address";
  static std::string text(const net::Address& address) { return address.text(); }
  static std::optional<net::Address> parsed(std::string_view text) {
    const Result<net::Address> address = net::Address::parse(text);
    return address ? std::optional(*address) : std::nullopt;
  }
};

}  // namespace chokepoint
