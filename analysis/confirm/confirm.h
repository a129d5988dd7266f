// The tests by which a job's verdict is confirmed or not: planned, judged, and kept beside the run.
// They run after the job, or beside it where every node's `run` allowed that.
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "analysis/attribution/confirmation.h"
#include "analysis/attribution/diagnose.h"
#include "analysis/attribution/diagnosis.h"
#include "base/json/codec.h"
#include "base/json/object_text.h"
#include "base/sys/error.h"

namespace chokepoint::analysis::confirm {

// Which tests confirm the verdict of a run, by the rows of attribution/tests.def: each with the
// host that runs it, the addresses that the job used, a bound of its rate and time, and what the
// job itself reached, which the result is held against. Pure; any thread.

struct PlanOptions {
  // Of nodes whose server is reached elsewhere than at the address that the job used: HOST[:PORT].
  std::map<std::string, std::string> servers = {};
  double most_mbps = 0;     // of each test; 0: no limit beyond the plan's own
  bool beside_job = false;  // short tests, and those alone that say something while the job runs
};

// Empty where no test can tell. `inquiry` is of this run.
std::vector<PlannedTest> plan_of(const RunData& run, const Inquiry& inquiry,
                                 const PlanOptions& options = {});

// The share of its time and traffic, in percent, that every node of a running job gives to tests;
// an Error that names a node which gives none.
Result<double> allowed_percent(const RunData& run);

// Payload that the job sent between its nodes so far, as far as their records say.
double bytes_sent(const RunData& run, const Clocks& clocks);

// Whether most of the job's data went over a path with at least this unloaded round trip.
bool is_wide_area(const RunData& run, const Clocks& clocks, double wan_rtt_ms);

// What is typed behind "chokepoint".
std::vector<std::string> words_of(const PlannedTest& test);

struct TestDescription {
  const char* task = "";
  double seconds = 0;
  bool loads = false;
  const char* text = "";
};
const TestDescription& describe(TestKind kind);

struct RuleDescription {
  const char* says_for = "";
  const char* says_against = "";
  TestSays beside_job = TestSays::Nothing;  // what it can say while the job runs
};
const RuleDescription& describe(TestRule rule);

// Of a test in a verdict: the head of tests.def says what each counts for.
enum class TestRole : std::uint8_t { Told, Shows, Excludes, Refutes };

struct Check {
  VerdictClass verdict = VerdictClass::Unknown;
  Cause cause = Cause::None;
  TestKind test = TestKind::Throughput;
  TestRule rule = TestRule::Beside;
  TestRole role = TestRole::Told;
};
std::span<const Check> check_table();

// "shows it", "excludes others", "can only refute it"; empty: it counts for nothing by itself.
std::string_view words_of(TestRole role);

// "probe tcp over the path in question; shows it: …; against it: …"
std::string text_of(const Check& check);

// The rows for a cause, or those of its class where it has none of its own.
std::vector<Check> checks_of(VerdictClass verdict, Cause cause);

// What the tests of a verdict measured, held against it: which of them speak for it and which
// against, in words, and what becomes of its confidence. Pure; any thread.

// The result of a test that is not planned for this verdict says nothing. `results` may come from a
// file that anybody wrote.
Confirmation judge(const Verdict& verdict, std::span<const PlannedTest> plan,
                   std::vector<TestResult> results, bool is_wan);

// Of a verdict with this confidence, after its tests.
double confidence_after(Confirmation::State state, double confidence);

// Gives the diagnosis its confirmation: the verdict's confidence follows it, and what was measured
// is evidence.
void apply(Confirmation confirmation, Diagnosis& diagnosis);

// The results of tests, kept beside a run's records as confirmation.json, so that each later
// diagnosis and report shows them. The file may come from anybody: bounded, and what is wrong with
// it is an Error that names the place. Pure but for the file that is read; any thread.

inline constexpr std::size_t kMaxKeptBytes = std::size_t{16} << 20;
inline constexpr std::size_t kMaxKeptTests = 256;

// `run`: a run's folder, or the record of one of its nodes.
std::filesystem::path kept_file(const std::filesystem::path& run);

struct Kept {
  std::string run = {};
  VerdictClass verdict = VerdictClass::Unknown;  // that was tested
  // What all tests cost the job while it ran, in seconds of its time: also earlier ones, whose
  // results were replaced.
  double cost_s = 0;
  std::vector<TestResult> results = {};
};

// The chokepoint.confirmation/1 document.
struct KeptTest {
  TestResult result = {};
  json::ObjectText document = {};
};
struct KeptDocument {
  std::string run = {};
  VerdictClass verdict = VerdictClass::Unknown;
  double cost_s = 0;
  std::vector<KeptTest> tests = {};
};
KeptDocument document_of(const Kept& kept);

Result<Kept> kept_in(std::string_view text);

// Empty where nothing is kept.
Result<Kept> read_kept(const std::filesystem::path& run);

}  // namespace chokepoint::analysis::confirm

namespace chokepoint {

template <>
struct Fields<analysis::confirm::KeptTest> {
  using K = analysis::confirm::KeptTest;
  static constexpr std::tuple kList{
      spread(&K::result),
      field("document", &K::document, "as the test printed it; null where it measured nothing")};
};

template <>
struct Fields<analysis::confirm::KeptDocument> {
  using K = analysis::confirm::KeptDocument;
  static constexpr std::string_view kSchema = "chokepoint.confirmation/1";
  static constexpr const char* kPrinted =
      "what `chokepoint diagnose --confirm` keeps beside a run; `value`, `unit`, `job_value`, "
      "`says` and `sentence` of a test follow from its `document` and the run when it is read";
  static constexpr std::tuple kList{
      field("run", &K::run, "the folder as it was given"),
      field("class", &K::verdict, "of the verdict that was tested"),
      field("cost_s", &K::cost_s,
            "what tests cost the job while it ran, of all --confirm so far: no more than its "
            "share of the job's time; absent in documents of earlier versions")
          .at_least(0)
          .or_default(),
      field("tests", &K::tests, "in the order in which they were run")
          .up_to_items(analysis::confirm::kMaxKeptTests)};
};

}  // namespace chokepoint
