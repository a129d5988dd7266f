// The head that every JSON document has: schema, host, started_at.
#pragma once

#include <string_view>

#include <nlohmann/json.hpp>

#include "base/cli/context.h"

namespace chokepoint::cli {

// Keys keep the order in which they are set, so that documents read as the contract lists them.
using Json = nlohmann::ordered_json;

// {"schema": schema, "host": this host's name, "started_at": now}
Json document(const Context& context, std::string_view schema);

// Prints it, two spaces a level. Bytes that are not UTF-8 are replaced, never thrown over.
void print(const Context& context, const Json& document);

}  // namespace chokepoint::cli
