#include "base/documents/main_figures.h"

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

namespace chokepoint::documents {

std::vector<Figure> figures_of(std::string_view schema) {
  std::vector<Figure> figures;
  for (const MainFigure& each : kMainFigures) {
    if (schema == each.schema) {
      figures.push_back({each.pointer, each.name, each.unit});
    }
  }
  return figures;
}

const nlohmann::ordered_json* found_at(const nlohmann::ordered_json& document,
                                       std::string_view pointer) {
  const nlohmann::ordered_json* at = &document;
  while (!pointer.empty()) {
    pointer.remove_prefix(1);  // the "/"
    const std::size_t end = std::min(pointer.find('/'), pointer.size());
    const std::string name(pointer.substr(0, end));
    pointer.remove_prefix(end);
    if (at->is_array() && name == "-" && !at->empty()) {
      at = &at->back();
    } else if (at->is_object() && at->contains(name)) {
      at = &at->at(name);
    } else {
      return nullptr;
    }
  }
  return at;
}

std::optional<double> number_at(const nlohmann::ordered_json& document, std::string_view pointer) {
  const nlohmann::ordered_json* found = found_at(document, pointer);
  return found != nullptr && found->is_number() && std::isfinite(found->get<double>())
             ? std::optional(found->get<double>())
             : std::nullopt;
}

}  // namespace chokepoint::documents
