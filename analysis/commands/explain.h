// What `explain` prints about a verdict's class or cause, a check and a trap: the
// chokepoint.explain/1 document and the page are two views of it. Values.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/json/fields.h"

namespace chokepoint::analysis {

enum class TopicKind : std::uint8_t { Class, Cause, Check, Trap };

struct Topic {
  std::string name = {};
  TopicKind kind = TopicKind::Class;
  std::string means = {};
  std::string shown_by = {};
  std::string wrong_if = {};
  std::vector<std::string> under = {};
  std::string passes = {};
  std::string otherwise = {};
  std::vector<std::string> advice = {};
  std::vector<std::string> tests = {};
  std::string source = {};
};

struct Explanation {
  std::vector<Topic> topics = {};
};

}  // namespace chokepoint::analysis

namespace chokepoint {

template <>
struct EnumNames<analysis::TopicKind> {
  using enum analysis::TopicKind;
  static constexpr std::string_view kWhat = "class, cause, check or trap";
  static constexpr auto kNames = std::to_array<EnumName<analysis::TopicKind>>(
      {{Class, "class"}, {Cause, "cause"}, {Check, "check"}, {Trap, "trap"}});
};

template <>
struct Fields<analysis::Topic> {
  using T = analysis::Topic;
  static constexpr FieldList kList{
      field("name", &T::name, "a class of verdicts, a cause, the id of a check, or a known trap"),
      field("kind", &T::kind, "which kind of topic"),
      field("means", &T::means, "what it means, in words"),
      field("shown_by", &T::shown_by,
            "evidence for a cause, or the sign of a trap; null for the other kinds")
          .null_if_empty(),
      field("under", &T::under,
            "causes of a class, classes of a cause, traps that a check sees, or the check of a "
            "trap"),
      field("passes", &T::passes,
            "when a check is PASS; null for the other kinds, and for checks that are only shown "
            "when they fail")
          .null_if_empty(),
      field("otherwise", &T::otherwise,
            "what status a check has when it is not PASS; null for the other kinds")
          .null_if_empty(),
      field("wrong_if", &T::wrong_if,
            "what would show that the verdict is wrong; null where nothing is named")
          .null_if_empty(),
      field("tests", &T::tests,
            "tests by which 'diagnose --confirm' checks a class or a cause, and which results "
            "support or contradict it"),
      field("advice", &T::advice, "what to change"),
      field("source", &T::source, "a public report of a trap; null for the other kinds")
          .null_if_empty()};
};

template <>
struct Fields<analysis::Explanation> {
  static constexpr std::string_view kSchema = "chokepoint.explain/1";
  static constexpr const char* kCommand = "explain";
  static constexpr FieldList kList{
      field("topics", &analysis::Explanation::topics, "all topics, or the ones of the name given")};
};

}  // namespace chokepoint
