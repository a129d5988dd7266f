// What follows from the description of a document: its JSON Schema and its list of fields. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/documents/published_schema.h"

namespace chokepoint::reference {

// "schemas/probe.tcp.schema.json" and the schema itself.
struct Schema {
  std::string file = {};
  json::Json content = {};
};

// Of the schema of a document, by its title.
Schema published(json::Json content);

// `has_host_facts`: what `--record` and `compare` use stands at the document's end.
Schema with_host_facts(Schema schema);

// A test of both ways has its figures in `send` and `receive`, else the document has them itself.
Schema with_directions(Schema schema);

template <documents::Document T>
Schema document_schema() {
  return published(documents::document_schema<T>());
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
