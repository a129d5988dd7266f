// A JSON document of the contract (docs/reference/documents.md): one struct with its Fields, from
// which the writer, the checked readers, the JSON Schema and the list of fields in the docs follow.
//
//   template <> struct chokepoint::Fields<documents::ProbeTcp> {
//     static constexpr std::string_view kSchema = "chokepoint.probe.tcp/1";
//     static constexpr const char* kCommand = "probe tcp";
//     static constexpr FieldList kList{…};
//   };
//
// kCommand prints it with --json; a document that is made in another way has kPrinted in its
// place: "what `chokepoint export DIR --to json` writes".
//
// The head (schema, host, started_at) and what `--record` and `--repeat` add is not in the struct.
// A reader ignores fields that it does not know. A field that an older version of the document
// lacks is or_default(). Pure functions.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/json/codec.h"
#include "base/sys/error.h"

namespace chokepoint::documents {

using json::Json;

template <class T>
concept Document = Described<T> && requires { std::string_view(Fields<T>::kSchema); };

// Whether the document is of this schema, by its own `schema`.
bool is_of_schema(const Json& document, std::string_view schema);

// What `document` lacks of the fields of `defaults`, and of the objects in them, is as there.
Json completed(Json defaults, const Json& document);

// A document of another schema, and one with a wrong value in it, is an Error that names it.
template <Document T>
Result<T> read(const Json& document) {
  if (!is_of_schema(document, Fields<T>::kSchema)) {
    return fail(ErrorKind::Malformed, "read document", "schema",
                "wanted " + std::string(Fields<T>::kSchema));
  }
  return json::from_json<T>(document, Fields<T>::kSchema);
}

// Of a text from a file that another program wrote, of json::kMaxTextBytes at most.
template <Document T>
Result<T> read_text(std::string_view text) {
  TRY(const Json document, json::parse_object(text, json::kMaxTextBytes, Fields<T>::kSchema));
  return read<T>(document);
}

// Of a document of which another program's output filled a part (analysis/evidence): any field may
// be missing.
template <Document T>
Result<T> read_partial_text(std::string_view text) {
  TRY(const Json document, json::parse_object(text, json::kMaxTextBytes, Fields<T>::kSchema));
  return is_of_schema(document, Fields<T>::kSchema)
             ? json::from_json<T>(completed(json::to_json(T{}), document), Fields<T>::kSchema)
             : read<T>(document);
}

}  // namespace chokepoint::documents
