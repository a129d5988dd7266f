// The small pieces that messages and documents are made of. Pure functions and constants.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "base/control/key.h"
#include "base/control/message.h"
#include "base/documents/values.h"
#include "base/json/codec.h"
#include "base/sys/error.h"

namespace chokepoint {

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

using documents::if_measured;

template <class T, class Body>
Json list_body(const std::vector<T>& list, Body body) {
  Json json = Json::array();
  for (const T& each : list) {
    json.push_back(body(each));
  }
  return json;
}

}  // namespace chokepoint::control
