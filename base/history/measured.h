// A test's document as rows of a history: the figures of the path, disk, GPUs or hosts that it
// tested, and how its hosts were set up. Documents are not trusted. Pure; any thread.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "base/history/row.h"

namespace chokepoint::history {

// Where a document is kept, and which program printed it.
struct Origin {
  std::string source = {};
  std::string program = {};
};

// Empty of a document of which nothing is remembered, and of a test that was interrupted.
Batch measured_in(const nlohmann::ordered_json& document, const Origin& origin);

}  // namespace chokepoint::history
