#include "probe/iperf3/messages.h"

#include <gtest/gtest.h>

#include <string>

namespace chokepoint::probe::iperf3 {
namespace {

// As 'iperf3 -c HOST -t 1 -b 1M --bidir -P 2' of version 3.12 writes it.
constexpr const char* kRecordedParameters =
    R"({"tcp":true,"omit":0,"time":1,"num":0,"blockcount":0,"parallel":2,"bidirectional":true,)"
    R"("len":131072,"bandwidth":1000000,"pacing_timer":1000,"client_version":"3.12"})";

TEST(Iperf3Parameters, ReadsWhatIperf3Writes) {
  const Result<Parameters> got = decode_parameters(kRecordedParameters);
  ASSERT_TRUE(got) << got.error().reason;
  EXPECT_EQ(*got, (Parameters{.direction = Direction::Both,
                              .time_s = 1,
                              .streams = 2,
                              .block_bytes = 131072,
                              .rate_bits_per_s = 1'000'000,
                              .client_version = "3.12"}));
}

// As version 3.21 writes them: fields that 3.12 does not know are left alone.
TEST(Iperf3Parameters, ReadsWhatIperf3OfTodayWrites) {
  const Result<Parameters> offloaded = decode_parameters(
      R"({"udp":true,"omit":0,"time":0,"num":0,"blockcount":9,"parallel":1,"reverse":true,)"
      R"("len":32768,"bandwidth":500000000,"pacing_timer":1000,"gso":1,"gso_dg_size":32768,)"
      R"("gso_bf_size":32768,"gro":1,"gro_bf_size":65507,"dont_fragment":1,)"
      R"("client_version":"3.21"})");
  ASSERT_TRUE(offloaded) << offloaded.error().reason;
  EXPECT_EQ(*offloaded, (Parameters{.udp = true,
                                    .direction = Direction::Receive,
                                    .time_s = 0,
                                    .blocks = 9,
                                    .block_bytes = 32768,
                                    .rate_bits_per_s = 500'000'000,
                                    .client_version = "3.21"}));
  const Result<Parameters> uncopied = decode_parameters(
      R"({"tcp":true,"omit":0,"server_affinity":1,"time":10,"num":0,"blockcount":0,"parallel":2,)"
      R"("bidirectional":true,"len":131072,"pacing_timer":1000,"title":"title","extra_data":"x",)"
      R"("get_server_output":1,"repeating_payload":1,"zerocopy":1,"skip_rx_copy":1,)"
      R"("client_version":"3.21"})");
  ASSERT_TRUE(uncopied) << uncopied.error().reason;
  EXPECT_EQ(*uncopied,
            (Parameters{.direction = Direction::Both, .streams = 2, .client_version = "3.21"}));
}

// 'iperf3 -s' without users takes it, too.
TEST(Iperf3Parameters, AUserOfTheServersIsNotAsked) {
  EXPECT_TRUE(decode_parameters(R"({"tcp":true,"time":1,"authtoken":"AaZM1GK7Q6IflwZDxp4E=="})"));
}

TEST(Iperf3Parameters, EveryFieldSurvivesTheWay) {
  const Parameters asked{.udp = true,
                         .direction = Direction::Receive,
                         .omit_s = 2,
                         .time_s = 7,
                         .bytes = 1'000'000,
                         .blocks = 12,
                         .streams = 128,
                         .block_bytes = 1448,
                         .rate_bits_per_s = 100'000'000'000,
                         .socket_pacing_bits_per_s = 1'000'000,
                         .mss = 1400,
                         .window_bytes = 4'000'000,
                         .traffic_class = 0x28,
                         .congestion = "cubic",
                         .no_delay = true,
                         .wide_counters = true,
                         .client_version = "chokepoint"};
  const Result<Parameters> got = decode_parameters(encode(asked));
  ASSERT_TRUE(got) << got.error().reason;
  EXPECT_EQ(*got, asked);
}

TEST(Iperf3Parameters, WhatIsLeftOutHasIperf3sDefault) {
  const Result<Parameters> got = decode_parameters(R"({"udp":true})");
  ASSERT_TRUE(got);
  EXPECT_TRUE(got->udp);
  EXPECT_EQ(got->time_s, 10);
  EXPECT_EQ(got->streams, 1);
  EXPECT_EQ(got->block_bytes, 1460);
}

TEST(Iperf3Parameters, BoundsHold) {
  for (const char* hostile : {R"({"parallel":129})",
                              R"({"parallel":0})",
                              R"({"parallel":"2"})",
                              R"({"time":86401})",
                              R"({"time":-1})",
                              R"({"omit":601})",
                              R"({"udp":true,"len":15})",
                              R"({"udp":true,"len":65508})",
                              R"({"len":0})",
                              R"({"len":1e300})",
                              R"({"MSS":40000})",
                              R"({"window":1e12})",
                              R"({"bandwidth":-1})",
                              R"({"TOS":256})",
                              R"({"congestion":7})",
                              R"({"congestion":"0123456789abcdef"})",
                              R"({"tcp":"yes","reverse":[]})",
                              "[]",
                              "7",
                              "",
                              "{",
                              R"({"time":1)"}) {
    const Result<Parameters> got = decode_parameters(hostile);
    EXPECT_FALSE(got) << hostile;
    EXPECT_TRUE(got || got.error().kind == ErrorKind::Malformed) << hostile;
  }
}

TEST(Iperf3Parameters, TheFieldThatIsWrongIsNamed) {
  EXPECT_EQ(decode_parameters(R"({"parallel":1e9})").error().subject,
            "iperf3 parameters 'parallel'");
}

TEST(Iperf3Parameters, OtherProtocolsAreUnsupported) {
  EXPECT_EQ(decode_parameters(R"({"sctp":true})").error().kind, ErrorKind::Unsupported);
  EXPECT_EQ(decode_parameters(R"({"tcp":true,"omit":0,"time":10,"num":0,"blockcount":0,)"
                              R"("parallel":1,"mptcp":true,"len":131072,"pacing_timer":1000,)"
                              R"("client_version":"3.21"})")
                .error()
                .kind,
            ErrorKind::Unsupported);
}

TEST(Iperf3Parameters, TooLongIsRefusedUnread) {
  const std::string padding(9000, ' ');
  EXPECT_FALSE(decode_parameters("{" + padding + "}"));
}

TEST(Iperf3Parameters, DeepNestingIsRefused) {
  EXPECT_FALSE(decode_parameters(std::string(8000, '[')));
  EXPECT_FALSE(
      decode_parameters(R"({"title":)" + std::string(3000, '[') + std::string(3000, ']') + "}"));
}

// Keys in alphabetical order, and nothing that the kernel chooses or that is false.
TEST(Iperf3Parameters, AreWrittenAsIperf3ReadsThem) {
  EXPECT_EQ(encode(Parameters{.client_version = "3.12"}),
            R"({"bandwidth":0,"blockcount":0,"client_version":"3.12","len":131072,"num":0,)"
            R"("omit":0,"pacing_timer":1000,"parallel":1,"tcp":true,"time":10})");
  EXPECT_EQ(encode(Parameters{.udp = true,
                              .direction = Direction::Receive,
                              .socket_pacing_bits_per_s = 1000,
                              .mss = 1400,
                              .window_bytes = 4096,
                              .traffic_class = 8,
                              .congestion = "cubic",
                              .no_delay = true,
                              .wide_counters = true}),
            R"({"MSS":1400,"TOS":8,"bandwidth":0,"blockcount":0,"client_version":"",)"
            R"("congestion":"cubic","fqrate":1000,"len":131072,"nodelay":true,"num":0,"omit":0,)"
            R"("pacing_timer":1000,"parallel":1,"reverse":true,"time":10,"udp":true,)"
            R"("udp_counters_64bit":1,"window":4096})");
}

TEST(Iperf3Parameters, WhatTheKernelChoosesIsZeroOrLeftOut) {
  const Result<Parameters> got =
      decode_parameters(R"({"MSS":0,"window":0,"TOS":0,"fqrate":0,"udp_counters_64bit":0})");
  ASSERT_TRUE(got);
  EXPECT_EQ(*got, Parameters{});
}

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
  EXPECT_EQ(got->counts_retransmits, -1);
  EXPECT_EQ(got->congestion, "bbr");
  ASSERT_EQ(got->streams.size(), 2U);
  EXPECT_EQ(got->streams[0], (StreamResult{.id = 1,
                                           .bytes = 131072,
                                           .jitter_s = 2.5e-05,
                                           .lost = 3,
                                           .packets = 4,
                                           .end_s = 1.0008}));
  EXPECT_EQ(got->find(3)->retransmits, 0);
  EXPECT_EQ(got->find(2), nullptr);
}

TEST(Iperf3Results, EveryFieldSurvivesTheWay) {
  const EndResults sent{.cpu_percent = 3.5,
                        .cpu_user_percent = 1,
                        .cpu_system_percent = 2.5,
                        .counts_retransmits = 1,
                        .congestion = "cubic",
                        .streams = {{.id = 1, .bytes = 5, .retransmits = 7, .end_s = 2},
                                    {.id = 3,
                                     .bytes = 6,
                                     .jitter_s = 0.5,
                                     .lost = 4,
                                     .packets = 9,
                                     .omitted_lost = 3,
                                     .omitted_packets = 5}}};
  const Result<EndResults> got = decode_results(encode(sent));
  ASSERT_TRUE(got) << got.error().reason;
  EXPECT_EQ(*got, sent);
  EXPECT_EQ(encode(EndResults{.streams = {{.id = 1, .bytes = 5}}}),
            R"({"cpu_util_system":0.0,"cpu_util_total":0.0,"cpu_util_user":0.0,)"
            R"("sender_has_retransmits":-1,"streams":[{"bytes":5,"end_time":0.0,"errors":0,)"
            R"("id":1,"jitter":0.0,"omitted_errors":0,"omitted_packets":0,"packets":0,)"
            R"("retransmits":-1,"start_time":0.0}]})");
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
