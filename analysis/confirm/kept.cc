#include <fcntl.h>

#include <algorithm>
#include <iterator>

#include "analysis/confirm/confirm.h"
#include "base/documents/document.h"
#include "base/sys/regular_file.h"

namespace chokepoint::analysis::confirm {
namespace {

namespace fs = std::filesystem;

TestResult result_of(const KeptTest& test) {
  TestResult result = test.result;
  result.document = test.document.text;
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

KeptDocument document_of(const Kept& kept) {
  KeptDocument document{.run = kept.run, .verdict = kept.verdict, .cost_s = kept.cost_s};
  for (const TestResult& result : kept.results) {
    document.tests.push_back({.result = result, .document = {.text = result.document}});
  }
  return document;
}

Result<Kept> kept_in(std::string_view text) {
  TRY(const KeptDocument document, documents::read_text<KeptDocument>(text));
  Kept kept{.run = document.run, .verdict = document.verdict, .cost_s = document.cost_s};
  std::ranges::transform(document.tests, std::back_inserter(kept.results), result_of);
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
