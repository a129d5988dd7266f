#include "base/json/object_text.h"

#include <nlohmann/json.hpp>

namespace chokepoint {

using Form = JsonForm<json::ObjectText>;

void Form::write(json::Json& at, const json::ObjectText& object) {
  at = json::object_or_null(object.text);
}

std::optional<json::ObjectText> Form::parsed(const json::Json& json) {
  return json::ObjectText{.text = json.is_object() ? json.dump() : std::string()};
}

void Form::describe(json::Json& schema, bool /*is_nullable*/) {
  schema["type"] = {"object", "null"};
  schema["additionalProperties"] = true;
}

}  // namespace chokepoint
