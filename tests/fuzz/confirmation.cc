// The results of tests that lie beside a run, in a file that anybody may have written: whatever the
// bytes, results or an error, and a verdict that keeps its bounds.
#include <array>
#include <cstdlib>
#include <string_view>

#include "analysis/confirm/judge.h"
#include "analysis/confirm/saved_tests.h"
#include "analysis/confirm/tests.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace chokepoint::analysis;
  auto saved = confirm::parse_saved(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!saved) {
    if (describe(saved.error()).empty()) std::abort();
    return 0;
  }
  for (const confirm::Check& check : confirm::check_table()) {
    std::vector<PlannedTest> plan;
    for (const TestResult& result : saved->results) {
      plan.push_back({.kind = result.kind,
                      .rule = check.rule,
                      .on = result.on,
                      .to = result.to,
                      .to_address = result.address,
                      .folder = result.folder,
                      .pace_mbps = 10,
                      .job_value = 10});
    }
    Diagnosis diagnosis{.verdict = {.verdict = check.verdict, .confidence = 0.9}};
    confirm::apply(confirm::judge(diagnosis.verdict, plan, saved->results, false), diagnosis);
    const double confidence = diagnosis.verdict.confidence;
    if (!(confidence >= 0 && confidence <= 1) || !diagnosis.confirmation ||
        diagnosis.confirmation->sentence.empty()) {
      std::abort();
    }
  }
  return 0;
}
