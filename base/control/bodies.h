// Small parts of messages and documents. Pure functions and constants.
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

using documents::if_measured;

}  // namespace chokepoint::control
