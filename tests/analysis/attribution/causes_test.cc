#include "analysis/attribution/causes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace chokepoint::analysis {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(Names, AreThoseOfTheContract) {
  EXPECT_STREQ(name_of(VerdictClass::Compute), "compute");
  EXPECT_STREQ(name_of(VerdictClass::WanLatency), "wan-latency");
  EXPECT_STREQ(name_of(VerdictClass::RdmaCongestion), "rdma-congestion");
  EXPECT_STREQ(name_of(VerdictClass::Unknown), "unknown");
  EXPECT_STREQ(name_of(Account::ReceiverHost), "receiver_host");
  EXPECT_STREQ(name_of(Account::Other), "other");
}

TEST(Names, OfAccountsSumToTheStep) {
  Accounting accounting;
  accounting[Account::Compute] = 60;
  accounting[Account::Other] = 2.5;
  EXPECT_DOUBLE_EQ(accounting.sum(), 62.5);
}

// Calls visit(class, cause) for each class alone and each pair that can be found.
template <class Visit>
void each_verdict(Visit visit) {
  for (const VerdictDescription& each : verdict_table()) {
    visit(each.verdict, Cause::None);
  }
  for (const CauseDescription& each : cause_table()) {
    for (const CauseUnder& under : each.under) {
      if (under.verdict) {
        visit(*under.verdict, each.cause);
      }
    }
  }
}

TEST(Names, AreTheTablesOwnAndNoneIsThereTwice) {
  std::set<std::string> names;
  for (const VerdictDescription& each : verdict_table()) {
    EXPECT_STREQ(name_of(each.verdict), each.name);
    EXPECT_TRUE(names.insert(each.name).second) << each.name;
  }
  std::set<std::string> causes;  // a rank may be late by its input, which is a class, too
  for (const CauseDescription& each : cause_table()) {
    EXPECT_STREQ(name_of(each.cause), each.name);
    EXPECT_TRUE(causes.insert(each.name).second) << each.name;
    EXPECT_TRUE(each.under.front().verdict.has_value()) << each.name << " is found under no class";
  }
}

TEST(Sentences, EveryClassAndCauseHasOneWhateverIsKnownOfThePlace) {
  each_verdict([](VerdictClass verdict, Cause cause) {
    for (const Where& where :
         {Where{}, Where{.from = "a", .to = "b"}, Where{.interface = "eth0", .node = "a"}}) {
      const std::string text =
          sentence_of(Verdict{.verdict = verdict, .cause = cause, .where = where});
      EXPECT_THAT(text, AllOf(Not(HasSubstr("{")), Not(HasSubstr("  "))));
      EXPECT_GT(text.size(), 15U) << name_of(verdict) << ' ' << name_of(cause);
    }
  });
}

// Of a class its first cause may be said in the class's own words; no two others are said alike.
TEST(Sentences, TellOneVerdictFromTheOther) {
  std::map<std::string, std::string> said;
  each_verdict([&](VerdictClass verdict, Cause cause) {
    const CauseUnder* own = describe(verdict, cause);
    if (own != nullptr && own->sentence.empty()) {
      return;
    }
    const std::string name = std::string(name_of(verdict)) + " " + name_of(cause);
    const auto [other, is_new] =
        said.emplace(sentence_of(Verdict{.verdict = verdict, .cause = cause}), name);
    EXPECT_TRUE(is_new) << name << " is said like " << other->second;
  });
}

TEST(Sentences, NameThePlace) {
  Verdict verdict{.verdict = VerdictClass::LanBandwidth,
                  .cause = Cause::LineRate,
                  .where = {.from = "a", .to = "b"}};
  EXPECT_EQ(sentence_of(verdict), "the link from a to b is full");
  verdict.where.direction = "both";
  EXPECT_EQ(sentence_of(verdict), "the link between a and b (both directions) is full");
  verdict.where = {.interface = "eth0", .node = "a"};
  EXPECT_EQ(sentence_of(verdict), "the link at eth0 of a is full");
  EXPECT_EQ(sentence_of(Verdict{.verdict = VerdictClass::Straggler,
                                .cause = Cause::LateRank,
                                .where = {.node = "b", .rank = 1}}),
            "rank 1 on b arrives late, and the others wait for it");
  EXPECT_EQ(sentence_of(Verdict{.verdict = VerdictClass::ReceiverHost,
                                .cause = Cause::ReceiveWindow,
                                .where = {.from = "a", .to = "b"}}),
            "the receive buffer of b is too small for the link from a to b");
}

TEST(Sentences, WithoutAccountsNothingIsSaidToBeLost) {
  Diagnosis diagnosis;
  EXPECT_THAT(sentence_of(diagnosis), HasSubstr("too little"));
  diagnosis.verdict.cause = Cause::RankGone;
  EXPECT_THAT(sentence_of(diagnosis), HasSubstr("ended before the job did"));
  diagnosis = {.accounting = Accounting()};
  EXPECT_THAT(sentence_of(diagnosis), HasSubstr("does not show where"));
}

constexpr std::array<std::string_view, 16> kWords{
    "from",   "to",      "node", "node_interface", "interface", "peer_interface", "rank", "buffer",
    "better", "address", "link", "to_address",     "taker",     "quota",          "own",  "mount"};

// Every {word} of a text.
std::vector<std::string> words_in(std::string_view text) {
  std::vector<std::string> words;
  for (std::size_t open = text.find('{'); open != std::string_view::npos;
       open = text.find('{', open + 1)) {
    words.emplace_back(text.substr(open + 1, text.find('}', open) - open - 1));
  }
  return words;
}

std::vector<AdviceText> advice_texts() {
  std::vector<AdviceText> texts;
  for (const VerdictDescription& each : verdict_table()) {
    std::ranges::copy(each.advice, std::back_inserter(texts));
  }
  for (const CauseDescription& each : cause_table()) {
    for (const CauseUnder& under : each.under) {
      std::ranges::copy(under.advice, std::back_inserter(texts));
    }
  }
  return texts;
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
  for (const VerdictDescription& each : verdict_table()) {
    const bool is_bottleneck =
        each.verdict != VerdictClass::Compute && each.verdict != VerdictClass::Unknown;
    EXPECT_EQ(each.verdict != VerdictClass::Compute, !each.advice.front().what.empty())
        << each.name;
    EXPECT_EQ(is_bottleneck, !each.disproof.empty()) << each.name;
  }
}

}  // namespace
}  // namespace chokepoint::analysis
