#include "base/documents/document.h"

#include <nlohmann/json.hpp>

namespace chokepoint::documents {

bool is_of_schema(const Json& document, std::string_view schema) {
  if (!document.is_object()) {
    return false;
  }
  const auto found = document.find("schema");
  return found != document.end() && found->is_string() &&
         found->get_ref<const std::string&>() == schema;
}

Json completed(Json defaults, const Json& document) {
  defaults.update(document, true);
  return defaults;
}

}  // namespace chokepoint::documents
