// A JSON object within a document that is passed on as it is: what another command printed. A
// value.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/json/codec.h"

namespace chokepoint::json {

struct ObjectText {
  std::string text = {};  // empty: null
};

}  // namespace chokepoint::json

// What is no object is read as none.
template <>
struct chokepoint::JsonForm<chokepoint::json::ObjectText> {
  static constexpr std::string_view kWhat = "an object or null";
  static void write(json::Json& at, const json::ObjectText& object);
  static std::optional<json::ObjectText> parsed(const json::Json& json);
  static void describe(json::Json& schema, bool is_nullable);
};
