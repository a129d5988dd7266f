// What hosts got when they looked up each other's names, in the document: nearly all get the same,
// so each answer stands there once, with those who got it. Pure functions.
//
//   [{"asked": 3, "addresses": ["10.0.0.3"], "error": null, "by": [0, 1, 2]}, …]
#pragma once

#include <vector>

#include "base/cli/output.h"
#include "base/sys/error.h"
#include "preflight/result/measured.h"

namespace chokepoint::preflight {

cli::Json json_of_names(const std::vector<HostResult>& hosts);

// Gives each host its answers, in the order of who was asked for.
Result<> read_names(const cli::Json& json, std::vector<HostResult>& hosts);

}  // namespace chokepoint::preflight
