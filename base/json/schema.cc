#include "base/json/schema.h"

#include <cmath>

#include <nlohmann/json.hpp>

namespace chokepoint::json::detail {
namespace {

void write_bound(Json& at, const char* name, double bound, bool is_whole) {
  if (!std::isfinite(bound)) {
    return;
  }
  if (is_whole && std::abs(bound) <= kMaxCount) {
    at[name] = static_cast<std::int64_t>(bound);
  } else {
    at[name] = bound;
  }
}

}  // namespace

void write_dialect(Json& at) { at["$schema"] = "https://json-schema.org/draft/2020-12/schema"; }

void write_description(Json& at, std::string_view text) {
  if (!text.empty() && !at.contains("description")) {
    at["description"] = text;
  }
}

void write_type(Json& at, const char* type, bool is_nullable) {
  at["type"] = is_nullable ? Json{type, "null"} : Json(type);
}

void write_names(Json& at, const std::vector<std::string_view>& names, bool is_nullable) {
  write_type(at, "string", is_nullable);
  at["enum"] = names;
  if (is_nullable) {
    at["enum"].push_back(nullptr);
  }
}

void write_number(Json& at, bool is_whole, const Bounds& bounds, bool is_nullable) {
  write_type(at, is_whole ? "integer" : "number", is_nullable);
  write_bound(at, "minimum", bounds.least, is_whole);
  write_bound(at, "maximum", bounds.most, is_whole);
}

// Bounds that no field set only protect the reader's memory: they are no part of the document.
void write_text(Json& at, const Bounds& bounds, bool is_nullable) {
  write_type(at, "string", is_nullable);
  if (bounds.longest != Bounds{}.longest) {
    at["maxLength"] = bounds.longest;
  }
}

void write_not_empty(Json& at) { at["minLength"] = 1; }

void write_form(Json& at, std::string_view format, std::string_view pattern) {
  at["format"] = format;
  at["pattern"] = pattern;
}

Json& write_list(Json& at, const Bounds& bounds, bool is_nullable) {
  write_type(at, "array", is_nullable);
  if (bounds.most_items != Bounds{}.most_items) {
    at["maxItems"] = bounds.most_items;
  }
  return at["items"];
}

Json& write_map(Json& at, bool is_nullable) {
  write_type(at, "object", is_nullable);
  return at["additionalProperties"];
}

Json& write_property(Json& object, std::string_view name, bool is_required) {
  object["properties"];
  if (is_required) {
    object["required"].push_back(name);
  }
  return object["properties"][std::string(name)];
}

void write_together(Json& object, const Bounds& bounds,
                    void (*describe)(Json& fields, const Bounds& bounds)) {
  Json fields;
  describe(fields, bounds);
  object["properties"].update(fields["properties"]);
  Json required = fields.value("required", Json::array());
  if (required.size() > 1) {
    const std::string first = required.front();
    required.erase(0);
    object["dependentRequired"][first] = std::move(required);
  }
}

}  // namespace chokepoint::json::detail
