// What can be done about a class and a cause, and what would show that they were named wrongly.
// {from}, {to}, {node} are nodes, {rank} is a rank, {interface} and {peer_interface} the cards at
// {from} and {to}, {link} a rate to ask predict about, {buffer} bytes that fill the path, {better}
// and {address} another way. Text that asks for what is not known is left out. Constants.
#pragma once

#include <span>
#include <string_view>

#include "analysis/attribution/diagnosis.h"

namespace chokepoint::analysis {

struct AdviceText {
  VerdictClass verdict = VerdictClass::Unknown;
  std::string_view cause = {};  // empty: of every cause, behind the cause's own
  std::string_view what = {};
  std::string_view command = {};
};

struct DisproofText {
  VerdictClass verdict = VerdictClass::Unknown;
  std::string_view text = {};
};

std::span<const AdviceText> advice_texts();  // the most useful first, of each class
std::span<const DisproofText> disproof_texts();

}  // namespace chokepoint::analysis
