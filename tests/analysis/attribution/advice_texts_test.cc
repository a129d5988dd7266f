#include "analysis/attribution/advice_texts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>

namespace chokepoint::analysis {
namespace {

constexpr std::array<std::string_view, 12> kWords{
    "from", "to",     "node",   "node_interface", "interface", "peer_interface",
    "rank", "buffer", "better", "address",        "link",      "to_address"};

// Every {word} of a text.
std::vector<std::string> words_in(std::string_view text) {
  std::vector<std::string> words;
  for (std::size_t open = text.find('{'); open != std::string_view::npos;
       open = text.find('{', open + 1)) {
    words.emplace_back(text.substr(open + 1, text.find('}', open) - open - 1));
  }
  return words;
}

TEST(AdviceTexts, AskForKnownWordsOnly) {
  for (const AdviceText& text : advice_texts()) {
    for (const std::string_view part : {text.what, text.command}) {
      for (const std::string& word : words_in(part)) {
        EXPECT_NE(std::ranges::find(kWords, word), kWords.end()) << part;
      }
    }
  }
}

TEST(AdviceTexts, EveryBottleneckHasAdviceAndADisproof) {
  for (int index = 0; index < static_cast<int>(VerdictClass::Unknown); ++index) {
    const auto verdict = static_cast<VerdictClass>(index);
    if (verdict == VerdictClass::Compute) {
      continue;
    }
    EXPECT_TRUE(std::ranges::count(advice_texts(), verdict, &AdviceText::verdict) > 0)
        << name_of(verdict);
    EXPECT_TRUE(std::ranges::count(disproof_texts(), verdict, &DisproofText::verdict) > 0)
        << name_of(verdict);
  }
}

TEST(AdviceTexts, ACausesOwnStandBeforeItsClass) {
  const auto texts = advice_texts();
  for (std::size_t later = 0; later < texts.size(); ++later) {
    for (std::size_t earlier = 0; earlier < later; ++earlier) {
      EXPECT_FALSE(texts[earlier].verdict == texts[later].verdict && texts[earlier].cause.empty() &&
                   !texts[later].cause.empty())
          << texts[later].what;
    }
  }
}

}  // namespace
}  // namespace chokepoint::analysis
