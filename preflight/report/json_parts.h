// What several parts of the document are made of, there and back. Pure functions.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/cli/output.h"
#include "base/sys/error.h"
#include "preflight/result/figures.h"

namespace chokepoint::preflight {

inline constexpr std::size_t kLongestName = 1024;  // letters that a document may use

using Ends = std::pair<HostIndex, HostIndex>;

std::unexpected<Error> malformed(std::string_view subject, std::string_view reason);

// Not negative; nothing where it is no whole number.
std::optional<std::uint64_t> count_in(const cli::Json& json);

cli::Json text_or_null(const std::string& text);

cli::Json json_of_error(const std::optional<Error>& error);
Result<std::optional<Error>> error_in(const cli::Json& object, const char* name);

cli::Json json_of_ways(const std::vector<Ends>& ways);  // [[from, to], …]
Result<std::vector<Ends>> ways_in(const cli::Json& object, const char* name, std::size_t hosts);

// A list of indices below `hosts`.
Result<std::vector<HostIndex>> hosts_in(const cli::Json& object, const char* name,
                                        std::size_t hosts);

// A list of texts, none longer than a name or an address is.
Result<std::vector<std::string>> texts_in(const cli::Json& object, const char* name);

// The list itself; an empty one where it is null or not there.
Result<const cli::Json*> list_in(const cli::Json& object, const char* name);

// Each of the list by read(element), until one fails.
template <class T, class Read>
Result<std::vector<T>> each_in(const cli::Json& object, const char* name, Read read) {
  TRY(const cli::Json* list, list_in(object, name));
  std::vector<T> values;
  values.reserve(list->size());
  for (const cli::Json& each : *list) {
    TRY(T value, read(each));
    values.push_back(std::move(value));
  }
  return values;
}

}  // namespace chokepoint::preflight
