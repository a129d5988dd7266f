// Tests that confirm or contradict a job's verdict, run after the job or beside it: which there
// are, what they measured, and what follows. analysis/confirm plans them, reads their documents and
// judges; `diagnose --confirm` runs them. Values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json/fields.h"

namespace chokepoint::analysis {

// Rows of analysis/attribution/tests.def.
enum class TestKind : std::uint8_t {
#define CONFIRM_TEST(enumerator, ...) enumerator,
#include "analysis/attribution/tests.def"
};

enum class TestRule : std::uint8_t {
#define RULE(enumerator, ...) enumerator,
#include "analysis/attribution/tests.def"
};

// Whether a measurement supports the verdict or contradicts it. Nothing: also where a test was not
// run.
enum class Support : std::uint8_t { Nothing, For, Against };

struct PlannedTest {
  TestKind kind = TestKind::Throughput;
  TestRule rule = TestRule::Beside;
  std::string on = {};  // node that runs it
  std::string to = {};  // the other node; empty: it has none
  std::string on_address = {};
  std::string to_address = {};
  std::vector<std::string> hosts = {};  // addresses, of a collective
  std::string folder = {};              // of storage
  double pace_mbps = 0;                 // it sends no faster; 0: as fast as the path carries
  std::int64_t bytes = 0;               // of a collective
  double time_s = 0;
  double most_bytes = 0;                 // that it sends, with what its peers send
  bool beside_job = false;               // while the job runs
  std::optional<double> job_value = {};  // what the job itself reached, saw or lost
  std::string command = {};              // to be typed by hand, but for the key
};

struct TestResult {
  TestKind kind = TestKind::Throughput;
  std::string on = {};
  std::string to = {};
  std::string address = {};  // of `to`: which of its ways was tested
  std::string folder = {};
  std::string at = {};      // RFC 3339
  bool beside_job = false;  // the job ran meanwhile
  std::string command = {};
  std::string failure = {};   // why there is no document
  std::string document = {};  // as the test printed it
  // What follows from the document, by the rule of the plan.
  std::optional<double> value = {};
  std::string unit = {};
  std::optional<double> job_value = {};
  Support support = Support::Nothing;
  std::string sentence = {};
};

struct Confirmation {
  // Open: what was measured decides nothing.
  enum class State : std::uint8_t { Open, Confirmed, NotConfirmed };

  State state = State::Open;
  std::string sentence = {};  // "confirmed: probe tcp carries 0.71 Gb/s alone"
  double confidence_before = 0;
  // Where the verdict is unknown: the class of verdicts that the tests lead to.
  std::string leads_to = {};
  std::vector<TestResult> tests = {};
};

}  // namespace chokepoint::analysis

namespace chokepoint {

template <>
struct EnumNames<analysis::TestKind> {
  using K = analysis::TestKind;
  static constexpr std::string_view kWhat = "a kind of test";
  static constexpr auto kNames = std::to_array<EnumName<K>>({
#define CONFIRM_TEST(enumerator, name, ...) {K::enumerator, name},
#include "analysis/attribution/tests.def"
  });
};

template <>
struct EnumNames<analysis::Support> {
  using S = analysis::Support;
  static constexpr std::string_view kWhat = "for, against or nothing";
  static constexpr auto kNames = std::to_array<EnumName<S>>(
      {{S::Nothing, "nothing"}, {S::For, "for"}, {S::Against, "against"}});
};

template <>
struct EnumNames<analysis::Confirmation::State> {
  using S = analysis::Confirmation::State;
  static constexpr std::string_view kWhat = "confirmed, not-confirmed or open";
  static constexpr auto kNames = std::to_array<EnumName<S>>(
      {{S::Open, "open"}, {S::Confirmed, "confirmed"}, {S::NotConfirmed, "not-confirmed"}});
};

template <>
struct Fields<analysis::PlannedTest> {
  using P = analysis::PlannedTest;
  static constexpr FieldList kList{
      field("test", &P::kind, "name of the test, as 'chokepoint explain' lists it"),
      field("on", &P::on, "the node that runs it"),
      field("to", &P::to, "the other node").null_if_empty(),
      field("time_s", &P::time_s, "seconds that the measurement takes").at_least(0),
      field("command", &P::command, "to repeat the test by hand; the key is left out")};
};

// Also of the file that keeps them, where what follows from a document is not read.
template <>
struct Fields<analysis::TestResult> {
  using R = analysis::TestResult;
  static constexpr std::size_t kMaxName = 256;
  static constexpr std::size_t kMaxText = 8192;
  static constexpr FieldList kList{
      field("test", &R::kind, "name of the test, as 'chokepoint explain' lists it"),
      field("on", &R::on, "the node that ran it").up_to_bytes(kMaxName),
      field("to", &R::to, "the other node").null_if_empty().up_to_bytes(kMaxName),
      field("address", &R::address, "of the other node").null_if_empty().up_to_bytes(kMaxName),
      field("folder", &R::folder, "folder of the storage that was tested")
          .null_if_empty()
          .up_to_bytes(kMaxText),
      field("at", &R::at, "when it was run").null_if_empty().up_to_bytes(kMaxName),
      field("beside_job", &R::beside_job, "the job ran during the test").or_default(),
      field("command", &R::command, "to repeat the test by hand; the key is left out")
          .null_if_empty()
          .up_to_bytes(2 * kMaxText),
      field("failure", &R::failure, "why the test measured nothing")
          .null_if_empty()
          .up_to_bytes(kMaxText),
      field("value", &R::value, "what the test measured"),
      field("unit", &R::unit, "unit of the value").null_if_empty().up_to_bytes(kMaxName),
      field("job_value", &R::job_value, "what the job itself reached, saw or lost"),
      field("says", &R::support,
            "whether the test supports the verdict, contradicts it, or neither")
          .or_default(),
      field("sentence", &R::sentence, "the result in words").null_if_empty().up_to_bytes(kMaxText)};
};

template <>
struct Fields<analysis::Confirmation> {
  using C = analysis::Confirmation;
  static constexpr FieldList kList{
      field("state", &C::state, "state of the verdict; open: the tests do not decide"),
      field("sentence", &C::sentence, "the result in words"),
      field("confidence_before", &C::confidence_before,
            "confidence in the verdict without the tests")
          .between(0, 1),
      field("leads_to", &C::leads_to,
            "the class of verdicts that the tests lead to, where the verdict is unknown")
          .null_if_empty(),
      field("tests", &C::tests, "in the order in which they were run")};
};

}  // namespace chokepoint

namespace chokepoint::analysis {

// Those of classes and causes would hide it.
using chokepoint::name_of;
// "for", "against"; of nothing "".
constexpr std::string_view label_of(Support support) {
  return support == Support::Nothing ? "" : name_of(support);
}

}  // namespace chokepoint::analysis
