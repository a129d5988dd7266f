#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>

#include <nlohmann/json.hpp>

#include "analysis/confirm/confirm.h"
#include "base/sys/regular_file.h"

namespace chokepoint::analysis::confirm {
namespace {

using json::Json;
namespace fs = std::filesystem;

Result<TestResult> result_in(const Json& item) {
  TRY(TestResult result, json::from_json<TestResult>(item, "test"));
  const Json document = item.value("document", Json());
  result.document = document.is_object() ? document.dump() : "";
  // These follow from the document.
  result.value = {};
  result.job_value = {};
  result.unit.clear();
  result.sentence.clear();
  result.says = TestSays::Nothing;
  return result;
}

}  // namespace

fs::path kept_file(const fs::path& run) {
  std::error_code failed;
  return (fs::is_directory(run, failed) ? run : run.parent_path()) / "confirmation.json";
}

void add_kept(Json& document, const Kept& kept) {
  document["cost_s"] = kept.cost_s;
  document["tests"] = Json::array();
  for (const TestResult& result : kept.results) {
    Json item = json::to_json(result);
    item["document"] = json::object_or_null(result.document);
    document["tests"].push_back(std::move(item));
  }
}

Result<Kept> kept_in(std::string_view text) {
  TRY(const Json document, json::parse_object(text, kMaxKeptBytes, "document"));
  const Json schema = document.value("schema", Json());
  if (!schema.is_string() || schema.get_ref<const std::string&>() != kKeptSchema) {
    return fail(ErrorKind::Malformed, "", "document", fmt::format("is no {}", kKeptSchema));
  }
  const Json tests = document.value("tests", Json());
  if (!tests.is_array() || tests.size() > kMaxKeptTests) {
    return fail(ErrorKind::Malformed, "", "document",
                fmt::format("has no list of at most {} tests", kMaxKeptTests));
  }
  Kept kept;
  const Json cost_s = document.value("cost_s", Json());
  kept.cost_s = cost_s.is_number() ? std::max(0.0, cost_s.get<double>()) : 0;
  for (const Json& item : tests) {
    TRY(TestResult result, result_in(item));
    kept.results.push_back(std::move(result));
  }
  return kept;
}

Result<Kept> read_kept(const fs::path& run) {
  const fs::path file = kept_file(run);
  TRY(const bool is_there, sys::check_regular("read", file));
  if (!is_there) {
    return Kept();
  }
  TRY(const sys::Descriptor opened, sys::open_regular("read", file, O_RDONLY));
  TRY(const std::string text, sys::read_up_to(opened, kMaxKeptBytes, "read", file));
  Result<Kept> kept = kept_in(text);
  if (!kept) {
    return fail(ErrorKind::Malformed, "", file.string(), describe(kept.error()),
                "remove it, and run 'chokepoint diagnose --confirm' again");
  }
  return kept;
}

}  // namespace chokepoint::analysis::confirm
