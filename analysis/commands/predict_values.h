// Single values as predict's flags take them, from text. Text that is empty leaves the target as it
// is; an error names the flag and what to write. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/sys/error.h"

namespace chokepoint::analysis {

Result<> read_count(std::string_view flag, const std::string& text, double* target,
                    double least = 1, double most = 1e15);  // whole: 1108, 708M
Result<> read_share(std::string_view flag, const std::string& text, double most,
                    std::optional<double>* target);  // 0.001, 0.1%
Result<> read_type(std::string_view flag, const std::string& type, double* bytes);
Result<> read_rtt(const std::string& text, std::optional<double>* rtt_ms);
Result<> read_link(const std::string& text, std::optional<double>* rate_mbps);

// The first that failed, or success.
template <class... Results>
Result<> first_failure(const Results&... results) {
  Result<> failure;
  (void)((results ? true : (failure = std::unexpected(results.error()), false)) && ...);
  return failure;
}

}  // namespace chokepoint::analysis
