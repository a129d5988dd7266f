#include "analysis/confirm/saved_tests.h"

#include <fcntl.h>

#include <algorithm>
#include <iterator>

#include "base/documents/document.h"
#include "base/sys/regular_file.h"

namespace chokepoint::analysis::confirm {
namespace {

namespace fs = std::filesystem;

TestResult result_of(const SavedTest& test) {
  TestResult result = test.result;
  result.document = test.document.text;
  // These follow from the document.
  result.value = {};
  result.job_value = {};
  result.unit.clear();
  result.sentence.clear();
  result.support = Support::Nothing;
  return result;
}

}  // namespace

fs::path saved_file(const fs::path& run) {
  std::error_code failed;
  return (fs::is_directory(run, failed) ? run : run.parent_path()) / "confirmation.json";
}

SavedDocument document_of(const SavedTests& saved) {
  SavedDocument document{.run = saved.run, .verdict = saved.verdict, .cost_s = saved.cost_s};
  for (const TestResult& result : saved.results) {
    document.tests.push_back({.result = result, .document = {.text = result.document}});
  }
  return document;
}

Result<SavedTests> parse_saved(std::string_view text) {
  TRY(const SavedDocument document, documents::read_text<SavedDocument>(text));
  SavedTests saved{.run = document.run, .verdict = document.verdict, .cost_s = document.cost_s};
  std::ranges::transform(document.tests, std::back_inserter(saved.results), result_of);
  return saved;
}

Result<SavedTests> read_saved(const fs::path& run) {
  const fs::path file = saved_file(run);
  TRY(const bool is_there, sys::check_regular("read", file));
  if (!is_there) {
    return SavedTests();
  }
  TRY(const sys::Descriptor opened, sys::open_regular("read", file, O_RDONLY));
  TRY(const std::string text, sys::read_up_to(opened, kMaxSavedBytes, "read", file));
  Result<SavedTests> saved = parse_saved(text);
  if (!saved) {
    return fail(ErrorKind::Malformed, "", file.string(), describe(saved.error()),
                "remove it, and run 'chokepoint diagnose --confirm' again");
  }
  return saved;
}

}  // namespace chokepoint::analysis::confirm
