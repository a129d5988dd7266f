// A document as the command of its kind prints it, with its head.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "base/documents/document.h"

namespace chokepoint::fakes {

template <documents::Document T>
json::Json printed(const T& document) {
  json::Json whole{{"schema", Fields<T>::kSchema},
                   {"host", "host-a"},
                   {"started_at", "2026-11-26T21:04:05.000Z"}};
  whole.update(json::to_json(document));
  return whole;
}

// As a run record keeps it.
template <documents::Document T>
std::string printed_text(const T& document) {
  return printed(document).dump();
}

}  // namespace chokepoint::fakes
