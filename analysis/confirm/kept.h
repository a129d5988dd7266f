// The results of tests, kept beside a run's records as confirmation.json, so that each later
// diagnosis and report shows them. The file may come from anybody: bounded, and what is wrong with
// it is an Error that names the place. Pure but for the file that is read; any thread.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "analysis/attribution/confirmation.h"
#include "base/json/codec.h"
#include "base/sys/error.h"

namespace chokepoint::analysis::confirm {

inline constexpr std::string_view kKeptSchema = "chokepoint.confirmation/1";
inline constexpr std::size_t kMaxKeptBytes = std::size_t{16} << 20;
inline constexpr std::size_t kMaxKeptTests = 256;

// `run`: a run's folder, or the record of one of its nodes.
std::filesystem::path kept_file(const std::filesystem::path& run);

// Into `document`, which has its head already.
void add_results(json::Json& document, const std::vector<TestResult>& results);

Result<std::vector<TestResult>> results_in(std::string_view text);

// Empty where nothing is kept.
Result<std::vector<TestResult>> read_results(const std::filesystem::path& run);

}  // namespace chokepoint::analysis::confirm
