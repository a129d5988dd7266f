#include "analysis/attribution/sentences.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace chokepoint::analysis {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr std::array kCauses{"",
                             "line-rate",
                             "shaper",
                             "competing-traffic",
                             "receive-window",
                             "send-buffer",
                             "congestion-window",
                             "gloo-credit",
                             "nccl-sockets",
                             "softirq",
                             "process-cpu",
                             "pcie-width",
                             "pcie-speed",
                             "loss",
                             "late-rank",
                             "management-interface",
                             "address-family",
                             "link-cut",
                             "interface-flap",
                             "round-trips",
                             "rank-gone",
                             "never-heard-of"};

std::vector<VerdictClass> all_classes() {
  std::vector<VerdictClass> all;
  for (int index = 0; index <= static_cast<int>(VerdictClass::Unknown); ++index) {
    all.push_back(static_cast<VerdictClass>(index));
  }
  return all;
}

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

TEST(Sentences, EveryClassAndCauseHasOneWhateverIsKnownOfThePlace) {
  for (const VerdictClass verdict : all_classes()) {
    for (const char* cause : kCauses) {
      for (const Where& where :
           {Where{}, Where{.from = "a", .to = "b"}, Where{.interface = "eth0", .node = "a"}}) {
        const std::string text =
            sentence_of(Verdict{.verdict = verdict, .cause = cause, .where = where});
        EXPECT_THAT(text, AllOf(Not(HasSubstr("{")), Not(HasSubstr("  "))));
        EXPECT_GT(text.size(), 15U) << name_of(verdict) << ' ' << cause;
      }
    }
  }
}

TEST(Sentences, TellOneClassFromTheOther) {
  std::set<std::string> texts;
  for (const VerdictClass verdict : all_classes()) {
    texts.insert(sentence_of(Verdict{.verdict = verdict}));
  }
  EXPECT_EQ(texts.size(), all_classes().size());
}

TEST(Sentences, NameThePlace) {
  Verdict verdict{.verdict = VerdictClass::LanBandwidth,
                  .cause = "line-rate",
                  .where = {.from = "a", .to = "b"}};
  EXPECT_EQ(sentence_of(verdict), "the link from a to b is full");
  verdict.where.direction = "both";
  EXPECT_EQ(sentence_of(verdict), "the link between a and b (both ways) is full");
  verdict.where = {.interface = "eth0", .node = "a"};
  EXPECT_EQ(sentence_of(verdict), "the link at eth0 of a is full");
  EXPECT_EQ(sentence_of(Verdict{.verdict = VerdictClass::Straggler,
                                .cause = "late-rank",
                                .where = {.node = "b", .rank = 1}}),
            "rank 1 on b comes late, and the others wait for it");
  EXPECT_EQ(sentence_of(Verdict{.verdict = VerdictClass::ReceiverHost,
                                .cause = "receive-window",
                                .where = {.from = "a", .to = "b"}}),
            "the receive buffer of b is too small for the link from a to b");
}

TEST(Sentences, WithoutAccountsNothingIsSaidToBeLost) {
  Diagnosis diagnosis;
  EXPECT_THAT(sentence_of(diagnosis), HasSubstr("too little"));
  diagnosis.verdict.cause = "rank-gone";
  EXPECT_THAT(sentence_of(diagnosis), HasSubstr("went away"));
  diagnosis = {.accounting = Accounting()};
  EXPECT_THAT(sentence_of(diagnosis), HasSubstr("names nobody"));
}

}  // namespace
}  // namespace chokepoint::analysis
