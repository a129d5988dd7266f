#include "base/documents/published_schema.h"

#include <fmt/format.h>

#include <utility>

#include <nlohmann/json.hpp>

#include "base/documents/values.h"

namespace chokepoint::documents {

std::string printed_by(std::string_view command) {
  return fmt::format("what `chokepoint {} --json` prints", command);
}

Json schema_of_parts(std::string_view name, std::string_view what, const Json& parts) {
  Json schema = {
      {"$schema", parts["$schema"]}, {"title", name}, {"description", what}, {"type", "object"}};
  schema["properties"] = {
      {"schema", {{"description", "the document and its version"}, {"const", name}}},
      {"host", {{"description", "the host that printed it"}, {"type", "string"}}},
      {"started_at",
       {{"description", "when the command began; RFC 3339, UTC"},
        {"type", "string"},
        {"format", TextForm<WallTime>::kFormat},
        {"pattern", TextForm<WallTime>::kPattern}}}};
  schema["required"] = {"schema", "host", "started_at"};
  schema["properties"].update(parts["properties"]);
  for (const Json& each : parts.value("required", Json::array())) {
    schema["required"].push_back(each);
  }
  if (parts.contains("dependentRequired")) {
    schema["dependentRequired"] = parts["dependentRequired"];
  }
  return schema;
}

}  // namespace chokepoint::documents
