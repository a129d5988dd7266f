#include "probe/iperf3/results.h"

#include <gtest/gtest.h>

namespace chokepoint::probe::iperf3 {
namespace {

// A receiver's, as version 3.12 writes it: -1 comes out as 2^64-1.
constexpr const char* kRecordedResults =
    R"({"cpu_util_total":0.04,"cpu_util_user":0.02,"cpu_util_system":0.02,)"
    R"("sender_has_retransmits":18446744073709551615,"congestion_used":"bbr","streams":[)"
    R"({"id":1,"bytes":131072,"retransmits":18446744073709551615,"jitter":2.5e-05,"errors":3,)"
    R"("packets":4,"start_time":0,"end_time":1.0008},)"
    R"({"id":3,"bytes":7,"retransmits":0,"jitter":0,"errors":-1,"packets":0}]})";

TEST(Iperf3Results, ReadsWhatIperf3Writes) {
  const Result<EndResults> got = decode_results(kRecordedResults);
  ASSERT_TRUE(got) << got.error().reason;
  EXPECT_FALSE(got->sends);
  EXPECT_EQ(got->congestion, "bbr");
  ASSERT_EQ(got->streams.size(), 2U);
  EXPECT_EQ(got->streams[0], (StreamResult{.id = 1,
                                           .bytes = 131072,
                                           .jitter_s = 2.5e-05,
                                           .lost = 3,
                                           .packets = 4,
                                           .end_s = 1.0008}));
  EXPECT_EQ(got->find(3)->retransmits, 0U);
  EXPECT_EQ(got->find(2), nullptr);
}

TEST(Iperf3Results, EveryFieldSurvivesTheWay) {
  const EndResults told{.cpu_percent = 3.5,
                        .cpu_user_percent = 1,
                        .cpu_system_percent = 2.5,
                        .counts_retransmits = true,
                        .sends = true,
                        .congestion = "cubic",
                        .streams = {{.id = 1, .bytes = 5, .retransmits = 7, .end_s = 2},
                                    {.id = 3, .bytes = 6, .jitter_s = 0.5, .lost = 1}}};
  const Result<EndResults> got = decode_results(encode(told));
  ASSERT_TRUE(got) << got.error().reason;
  EXPECT_EQ(*got, told);
}

TEST(Iperf3Results, WhatIsRequiredIsMissed) {
  EXPECT_FALSE(decode_results(R"({"streams":[]})"));
  EXPECT_FALSE(decode_results(R"({"cpu_util_total":1,"cpu_util_user":1,"cpu_util_system":1,)"
                              R"("sender_has_retransmits":1})"));
  EXPECT_FALSE(decode_results(R"({"cpu_util_total":1,"cpu_util_user":1,"cpu_util_system":1,)"
                              R"("sender_has_retransmits":1,"streams":[{"id":1}]})"));
  EXPECT_FALSE(decode_results(R"({"cpu_util_total":1,"cpu_util_user":1,"cpu_util_system":1,)"
                              R"("sender_has_retransmits":1,"streams":[7]})"));
}

TEST(Iperf3Results, StreamsBeyondWhatCanBeAreRefused) {
  std::string many = R"({"streams":[)";
  for (int i = 0; i < 300; ++i) {
    many += i == 0 ? "{}" : ",{}";
  }
  EXPECT_FALSE(decode_results(many + "]}"));
}

}  // namespace
}  // namespace chokepoint::probe::iperf3
