// The small pieces that messages and documents are made of. Pure functions and constants.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "base/control/handshake.h"
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

// Null where nothing was measured.
inline Json distribution_body(const math::Distribution& values) {
  if (values.count == 0) {
    return {};
  }
  return json::to_json(values);
}

template <class T, class Body>
Json list_body(const std::vector<T>& list, Body body) {
  Json json = Json::array();
  for (const T& each : list) {
    json.push_back(body(each));
  }
  return json;
}

template <class T, class Read>
Result<std::vector<T>> list_in(const Json& body, const char* name, Read read) {
  std::vector<T> list;
  const auto at = body.find(name);
  if (at == body.end() || !at->is_array()) {
    return fail(ErrorKind::Malformed, "read message", name, "wanted a list");
  }
  for (const Json& each : *at) {
    TRY(T item, read(each));
    list.push_back(std::move(item));
  }
  return list;
}

}  // namespace chokepoint::control
