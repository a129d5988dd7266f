// The JSON Schema of a document as a command prints it: the head that every document has, and
// behind it the schema of its struct. docs/reference/schemas and the tools of `mcp` are made of it.
// Pure functions.
#pragma once

#include <string>
#include <string_view>

#include "base/documents/document.h"
#include "base/json/schema.h"

namespace chokepoint::documents {

// "what `chokepoint doctor --json` prints"
std::string printed_by(std::string_view command);

// Of a document whose parts behind the head have this schema. `what` it is, in a line.
Json schema_of_parts(std::string_view name, std::string_view what, const Json& parts);

template <Document T>
Json document_schema() {
  if constexpr (requires { Fields<T>::kPrinted; }) {
    return schema_of_parts(Fields<T>::kSchema, Fields<T>::kPrinted, json::schema_of<T>());
  } else {
    return schema_of_parts(Fields<T>::kSchema, printed_by(Fields<T>::kCommand),
                           json::schema_of<T>());
  }
}

}  // namespace chokepoint::documents
