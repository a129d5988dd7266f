// The results of tests, saved beside a run's records as confirmation.json, so that each later
// diagnosis and report shows them. The file is not trusted: it is bounded, and an invalid one is
// an Error that names the place. Pure but for the file that is read; any thread.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "analysis/attribution/confirmation.h"
#include "analysis/attribution/diagnosis.h"
#include "base/json/codec.h"
#include "base/json/object_text.h"
#include "base/sys/error.h"

namespace chokepoint::analysis::confirm {

inline constexpr std::size_t kMaxSavedBytes = std::size_t{16} << 20;
inline constexpr std::size_t kMaxSavedTests = 256;

// `run`: a run's folder, or the record of one of its nodes.
std::filesystem::path saved_file(const std::filesystem::path& run);

struct SavedTests {
  std::string run = {};
  VerdictClass verdict = VerdictClass::Unknown;  // that was tested
  // What all tests cost the job while it ran, in seconds of its time: also earlier ones, whose
  // results were replaced.
  double cost_s = 0;
  std::vector<TestResult> results = {};
};

// The chokepoint.confirmation/1 document.
struct SavedTest {
  TestResult result = {};
  json::ObjectText document = {};
};
struct SavedDocument {
  std::string run = {};
  VerdictClass verdict = VerdictClass::Unknown;
  double cost_s = 0;
  std::vector<SavedTest> tests = {};
};
SavedDocument document_of(const SavedTests& saved);

Result<SavedTests> parse_saved(std::string_view text);

// Empty where nothing is saved.
Result<SavedTests> read_saved(const std::filesystem::path& run);

}  // namespace chokepoint::analysis::confirm

namespace chokepoint {

template <>
struct Fields<analysis::confirm::SavedTest> {
  using K = analysis::confirm::SavedTest;
  static constexpr FieldList kList{
      spread(&K::result),
      field("document", &K::document,
            "document that the test printed; null where the test measured nothing")};
};

template <>
struct Fields<analysis::confirm::SavedDocument> {
  using K = analysis::confirm::SavedDocument;
  static constexpr std::string_view kSchema = "chokepoint.confirmation/1";
  static constexpr const char* kPrinted =
      "what `chokepoint diagnose --confirm` keeps beside a run; `value`, `unit`, `job_value`, "
      "`says` and `sentence` of a test follow from its `document` and the run when it is read";
  static constexpr FieldList kList{
      field("run", &K::run, "the folder as it was given"),
      field("class", &K::verdict, "class of the verdict that was tested"),
      field("cost_s", &K::cost_s,
            "seconds that tests cost the running job, over all uses of --confirm so far: no more "
            "than the permitted share of the job's time; absent in documents of earlier versions")
          .at_least(0)
          .or_default(),
      field("tests", &K::tests, "tests in the order in which they ran")
          .up_to_items(analysis::confirm::kMaxSavedTests)};
};

}  // namespace chokepoint
