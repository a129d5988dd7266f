// The texts for people about classes, causes and accounts: the sentence that names each, the
// advice, and what would show that it was named wrongly. Each is written once, in a row of
// causes.def, so that pages and reports agree. Pure functions and constants; any thread.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "analysis/attribution/diagnosis.h"

namespace chokepoint::analysis {

// "the link from a to b is full"; a cause without a sentence of its own has that of its class. What
// another tool's files say stands in its place.
std::string sentence_of(const Verdict& verdict);
// Of its verdict; where no time could be accounted for, without the time lost.
std::string sentence_of(const Diagnosis& diagnosis);

// Where time goes, to stand behind an amount of it: "60 computing", "143 link full".
const char* words_of(Account account);

// The rows of causes.def; its head describes their texts.
struct AdviceText {
  std::string_view what = {};
  std::string_view command = {};
  // Of a `chokepoint predict` that replays the run with one thing changed: "--bucket", "100M".
  std::string_view option = {};
  std::string_view value = {};
};

struct VerdictDescription {
  VerdictClass verdict = VerdictClass::Unknown;
  const char* name = "";
  std::string_view sentence = {};
  std::string_view disproof = {};
  std::array<AdviceText, 3> advice = {};  // the most useful first
};

// Texts of a cause where it is found under one class. Empty: those of the class.
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

// Of a cause, not of None.
const CauseDescription& describe(Cause cause);
// Nothing where the cause is not found under that class.
const CauseUnder* describe(VerdictClass verdict, Cause cause);

}  // namespace chokepoint::analysis
