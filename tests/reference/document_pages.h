// What follows from the description of a document: its JSON Schema and its list of fields. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/documents/document.h"
#include "base/json/schema.h"

namespace chokepoint::reference {

// "schemas/probe.tcp.schema.json" and the schema itself.
struct Schema {
  std::string file = {};
  json::Json content = {};
};

// "what `chokepoint doctor --json` prints"
std::string printed_by(std::string_view command);

// Of a document whose parts behind the head have this schema. `what` it is, in a line.
Schema schema_of_parts(std::string_view name, std::string_view what, const json::Json& parts);

// `has_host_facts`: what `--record` and `compare` use stands at the document's end.
Schema with_host_facts(Schema schema);

// A test of both ways has its figures in `send` and `receive`, else the document has them itself.
Schema with_directions(Schema schema);

template <documents::Document T>
Schema document_schema() {
  if constexpr (requires { Fields<T>::kPrinted; }) {
    return schema_of_parts(Fields<T>::kSchema, Fields<T>::kPrinted, json::schema_of<T>());
  } else {
    return schema_of_parts(Fields<T>::kSchema, printed_by(Fields<T>::kCommand),
                           json::schema_of<T>());
  }
}

// What a probe or another test prints.
template <documents::Document T>
Schema test_schema() {
  if constexpr (requires(T document) { document.by_direction; }) {
    return with_directions(with_host_facts(document_schema<T>()));
  }
  return with_host_facts(document_schema<T>());
}

// docs/reference/fields.md
std::string fields_page(const std::vector<Schema>& schemas);

// web/src/document/documents.ts: the types of the documents of these titles, and of those within
// them.
std::string types_page(const std::vector<Schema>& schemas,
                       const std::vector<std::string_view>& titles);

}  // namespace chokepoint::reference
