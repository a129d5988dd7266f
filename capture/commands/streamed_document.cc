#include "capture/commands/streamed_document.h"

#include <string>

namespace chokepoint::capture {
namespace {

using cli::Json;

std::string text_of(const Json& value, int indent) {
  return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

void StreamedDocument::add(std::string_view name, const Json& value) {
  key(name);
  // Below the top level everything stands two spaces further to the right.
  for (const char letter : text_of(value, 2)) {
    out_ << letter;
    if (letter == '\n') {
      out_ << "  ";
    }
  }
}

void StreamedDocument::add_all(const Json& object) {
  for (const auto& [name, value] : object.items()) {
    add(name, value);
  }
}

void StreamedDocument::begin_list(std::string_view name) {
  key(name);
  out_ << '[';
  is_list_empty_ = true;
}

void StreamedDocument::item(const Json& value) {
  out_ << (is_list_empty_ ? "\n    " : ",\n    ") << text_of(value, -1);
  is_list_empty_ = false;
}

void StreamedDocument::end_list() { out_ << (is_list_empty_ ? "]" : "\n  ]"); }

void StreamedDocument::key(std::string_view name) {
  out_ << (is_empty_ ? "\n  " : ",\n  ") << text_of(Json(name), -1) << ": ";
  is_empty_ = false;
}

}  // namespace chokepoint::capture
