// Secrets in command lines, which records must not hold: records are shared, attached to tickets
// and sent to others. A pure function.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace chokepoint::record {

// What stands for a value that is not shown.
inline constexpr const char* kMasked = "***";

// The arguments with "***" for the values of flags and variables whose names contain token,
// password, passwd, secret, api-key or credential, in any case, and of variables whose names
// contain KEY: --x=v, --x v, NAME=v, and the latter also inside of a line for a shell. "tokenizer"
// is no token, and a number of tokens (--max-tokens 4096) is no secret.
std::vector<std::string> masked(std::span<const std::string> arguments);

}  // namespace chokepoint::record
