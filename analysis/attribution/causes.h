// The texts for people about classes, causes and accounts: what is said of each, what can be done
// about it, and what would show that it was named wrongly. Each stands once, in a row of
// causes.def, so that pages and reports say the same. Pure functions and constants; any thread.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "analysis/attribution/diagnosis.h"

namespace chokepoint::analysis {

// "the link from a to b is full"; of a cause without words of its own, what its class says.
std::string sentence_of(const Verdict& verdict);
// Of its verdict; where no time could be accounted for, none is said to be lost.
std::string sentence_of(const Diagnosis& diagnosis);

// Where time goes, to stand behind an amount of it: "60 computing", "143 link full".
const char* words_of(Account account);

// The rows of causes.def, whose head says what their texts are.
struct AdviceText {
  std::string_view what = {};
  std::string_view command = {};
};

struct VerdictDescription {
  VerdictClass verdict = VerdictClass::Unknown;
  const char* name = "";
  std::string_view sentence = {};
  std::string_view disproof = {};
  std::array<AdviceText, 3> advice = {};  // the most useful first
};

// What is said of a cause where it is found under one class. Empty: what the class says.
struct CauseUnder {
  std::optional<VerdictClass> verdict = {};
  std::string_view sentence = {};
  std::array<AdviceText, 3> advice = {};  // the most useful first
};

struct CauseDescription {
  Cause cause = Cause::None;
  const char* name = "";
  std::string_view evidence = {};
  std::array<CauseUnder, 4> under = {};
};

std::span<const VerdictDescription> verdict_table();  // in the order of the enum
std::span<const CauseDescription> cause_table();

// Nothing where the cause is not found under that class.
const CauseUnder* describe(VerdictClass verdict, Cause cause);

}  // namespace chokepoint::analysis
