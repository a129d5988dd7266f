// How the documents of other commands are read: an agent may be broken or hostile, and then its
// whole document is malformed. What is absent or null was not measured. Pure.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/control/message.h"
#include "base/json/codec.h"
#include "base/sys/error.h"

namespace chokepoint::preflight::lead {

// Upper bounds of real figures; larger ones come from an agent that invents them.
inline constexpr double kMaxMbps = 1e8;  // 100 Tb/s
inline constexpr double kMaxMs = 3'600'000;
inline constexpr std::size_t kMaxWordBytes = 64;

inline constexpr const char* kNextStep = "is the agent there this program's?";

inline Error malformed(std::string_view schema, std::string_view wanted) {
  return {.kind = ErrorKind::Malformed,
          .operation = "read answer",
          .subject = std::string(schema),
          .reason = fmt::format("wanted {}", wanted),
          .next_step = kNextStep};
}

template <class Document>
Result<Document> read(const control::Json& document, std::string_view schema) {
  if (!document.is_object() || !document.contains("schema") || document["schema"] != schema) {
    return fail(malformed("document", schema));
  }
  Result<Document> parsed = json::from_json<Document>(document, schema);
  if (!parsed) {
    parsed.error().operation = "read answer";
    parsed.error().next_step = kNextStep;
  }
  return parsed;
}

template <class Part>
Part or_empty(const std::optional<Part>& part) {
  return part.value_or(Part{});
}

}  // namespace chokepoint::preflight::lead
