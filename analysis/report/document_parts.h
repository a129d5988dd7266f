// What a document shows of a value that may not be known: null, never 0 and never an empty text.
// For documents that no struct describes.
#pragma once

#include <optional>
#include <string>

#include "base/cli/output.h"

namespace chokepoint::analysis {

template <class T>
cli::Json value_or_null(const std::optional<T>& value) {
  return value ? cli::Json(*value) : cli::Json();
}

inline cli::Json text_or_null(const std::string& text) {
  return text.empty() ? cli::Json() : cli::Json(text);
}

}  // namespace chokepoint::analysis
