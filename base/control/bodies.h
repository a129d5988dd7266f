// The small pieces that messages and documents are made of. Pure functions and constants.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "base/control/key.h"
#include "base/control/message.h"
#include "base/json/codec.h"
#include "base/math/statistics.h"
#include "base/net/address.h"
#include "base/sys/error.h"

namespace chokepoint {

// A message always says all of it; its reader gives the range, which differs.
template <>
struct Fields<math::Distribution> {
  using D = math::Distribution;
  static constexpr std::tuple kList{
      field("min", &D::min),   field("median", &D::median),
      field("p99", &D::p99),   field("max", &D::max),
      field("mean", &D::mean), field("count", &D::count).at_most(kMaxCount)};
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

// In 64 hexadecimal digits.
template <>
struct TextForm<control::Mac> {
  static constexpr std::string_view kWhat = "64 hexadecimal digits";
  static std::string text(const control::Mac& mac) { return control::to_hex(mac); }
  static std::optional<control::Mac> parsed(std::string_view text) {
    return control::from_hex(text);
  }
};

}  // namespace chokepoint

namespace chokepoint::control {

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

// nullopt, and so null in a document, where nothing was measured.
inline std::optional<math::Distribution> if_measured(const math::Distribution& values) {
  return values.count == 0 ? std::nullopt : std::optional(values);
}

template <class T, class Body>
Json list_body(const std::vector<T>& list, Body body) {
  Json json = Json::array();
  for (const T& each : list) {
    json.push_back(body(each));
  }
  return json;
}

}  // namespace chokepoint::control
