#include "probe/nuttcp/messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace chokepoint::probe::nuttcp {
namespace {

// As 'nuttcp -T1 -R1m -r HOST' of version 6.1.2 writes it.
constexpr const char* kRecordedParameters =
    "buflen = 65536, nbuf = 2147483647, win = 0, nstream = 1, rate = 1000, port = 5001, trans = 0, "
    "braindead = 0, timeout = 1.000000, udp = 0, vers = 6.1.2, interval = 0.000000, reverse = 0, "
    "format = 2048, traceroute = 0, irate = 0, thirdparty = _NULL_ , multicast = 0 , datamss = 0 , "
    "tos = 0 , nbuf_bytes = 0 , rate_pps = 0 , nodelay = 0\n";

// The recorded line with something else in it.
std::string with(const std::string& before, const std::string& after) {
  std::string line = kRecordedParameters;
  const std::size_t at = line.find(before);
  EXPECT_NE(at, std::string::npos) << before;
  return line.replace(at, before.size(), after);
}

TEST(NuttcpParameters, ReadsWhatNuttcpWrites) {
  const Result<Parameters> got = decode_parameters(kRecordedParameters);
  ASSERT_TRUE(got) << got.error().reason;
  EXPECT_EQ(*got, (Parameters{.sender = Sender::Server, .time_s = 1, .rate_kbits_per_s = 1000}));
}

TEST(NuttcpParameters, WritesWhatNuttcpWrites) {
  EXPECT_EQ(encode({.sender = Sender::Server, .time_s = 1, .rate_kbits_per_s = 1000}),
            kRecordedParameters);
}

TEST(NuttcpParameters, EveryFieldSurvivesTheWay) {
  const Parameters asked{.udp = true,
                         .sender = Sender::Client,
                         .flipped = true,
                         .block_bytes = 1472,
                         .blocks = 77,
                         .time_s = 2.5,
                         .interval_s = 0.5,
                         .streams = 3,
                         .data_port = 6001,
                         .rate_kbits_per_s = 10'000'000,
                         .window_bytes = 65536,
                         .mss = 1400,
                         .traffic_class = 0xb8,
                         .no_delay = true,
                         .machine_readable = true};
  const Result<Parameters> got = decode_parameters(encode(asked));
  ASSERT_TRUE(got) << got.error().reason;
  EXPECT_EQ(*got, asked);
}

TEST(NuttcpParameters, UnlimitedIsNothing) {
  const Result<Parameters> got = decode_parameters(with("rate = 1000", "rate = 4294967295"));
  ASSERT_TRUE(got);
  EXPECT_FALSE(got->rate_kbits_per_s);
  EXPECT_FALSE(got->blocks);
}

TEST(NuttcpParameters, NewerClientsMaySayMore) {
  EXPECT_TRUE(decode_parameters(with("nodelay = 0", "nodelay = 0 , maxburst = 9 , ssmc = 0")));
}

TEST(NuttcpParameters, BoundsHold) {
  EXPECT_FALSE(decode_parameters(with("nstream = 1", "nstream = 129")));
  EXPECT_FALSE(decode_parameters(with("nstream = 1", "nstream = 0")));
  EXPECT_FALSE(decode_parameters(with("nstream = 1", "nstream = 1x")));
  EXPECT_FALSE(decode_parameters(with("buflen = 65536", "buflen = 0")));
  EXPECT_FALSE(decode_parameters(with("buflen = 65536", "buflen = 99999999999")));
  EXPECT_FALSE(decode_parameters(with("port = 5001", "port = 80")));
  EXPECT_FALSE(decode_parameters(with("port = 5001", "port = 65500")));
  EXPECT_FALSE(decode_parameters(with("timeout = 1.000000", "timeout = nan")));
  EXPECT_FALSE(decode_parameters(with("timeout = 1.000000", "timeout = 1e9")));
  EXPECT_FALSE(decode_parameters(with("timeout = 1.000000", "timeout = 0.000000")))
      << "neither a time nor an amount: it would never end";
  EXPECT_FALSE(decode_parameters(with("vers = 6.1.2", "vers = new")));
  EXPECT_FALSE(decode_parameters(std::string(5000, 'a')));
  EXPECT_FALSE(decode_parameters(""));
}

TEST(NuttcpParameters, TheFieldThatIsWrongIsNamed) {
  EXPECT_NE(decode_parameters(with("tos = 0", "tos = 1FF")).error().reason.find("tos"),
            std::string::npos);
}

TEST(NuttcpParameters, WhatIsNotSpokenIsUnsupported) {
  for (const auto& [before, after] :
       {std::pair{"multicast = 0", "multicast = 2"}, std::pair{"traceroute = 0", "traceroute = 1"},
        std::pair{"_NULL_", "other.example"}}) {
    EXPECT_EQ(decode_parameters(with(before, after)).error().kind, ErrorKind::Unsupported);
  }
}

using testing::HasSubstr;

constexpr const char* kRecordedResults =
    "nuttcp-r: v6.1.2: socket\n"
    "nuttcp-r: buflen=1000 nstream=1 port=5001 mode=udp\n"
    "nuttcp-r: reporting_interval=0.30\n"
    "megabytes=0.1793 real_sec=0.30 rate_Mbps=5.0111 retrans=4\n"
    "megabytes=0.1783 real_sec=0.30 rate_Mbps=4.9876 drop=0 pkt=187 data_loss=0.00000\n"
    "DONE\n"
    "nuttcp-r: megabytes=0.5960 real_seconds=1.00 rate_KBps=610.33 rate_Mbps=4.9999\n"
    "nuttcp-r: megabytes=0.5960 cpu_seconds=0.04 KB_per_cpu_second=17099.56\n"
    "nuttcp-r: io_calls=629 msec_per_call=1.63 calls_per_sec=628.98\n"
    "nuttcp-r: stats=cpu user=0.0 system=0.0 elapsed=0:01 cpu=2% memory=0i+0d-914maxrss\n";

TEST(NuttcpResults, ReadsWhatNuttcpWrites) {
  const Result<ResultText> got = read_results(kRecordedResults);
  ASSERT_TRUE(got) << got.error().reason;
  EXPECT_DOUBLE_EQ(got->seconds, 1.0);
  EXPECT_EQ(got->cpu_percent, 2.0);
  EXPECT_EQ(got->datagrams(1000), 625U);
  EXPECT_FALSE(got->retransmits);
}

TEST(NuttcpResults, ReadsATransmittersRetransmits) {
  const Result<ResultText> got = read_results(
      "nuttcp-t: connect=127.0.0.1 mss=32741 rtt_ms=0.316\n"
      "nuttcp-t: megabytes=4.8125 real_seconds=2.02\nnuttcp-t: retrans=12\n");
  ASSERT_TRUE(got);
  EXPECT_EQ(got->bytes(), 5046272U);
  EXPECT_EQ(got->retransmits, 12U);
}

TEST(NuttcpResults, WithoutAnAmountThereIsNoResult) {
  EXPECT_FALSE(read_results(""));
  EXPECT_FALSE(read_results("nuttcp-r: Error: recv: Connection reset by peer\n"));
  EXPECT_FALSE(read_results("nuttcp-r: megabytes=nan real_seconds=1\n"));
  EXPECT_FALSE(read_results("nuttcp-r: megabytes=-4 real_seconds=1\n"));
  EXPECT_FALSE(read_results("nuttcp-r: megabytes= real_seconds="));
}

TEST(NuttcpResults, ProgramsFormHasKeys) {
  const Parameters asked{.sender = Sender::Server, .machine_readable = true};
  EXPECT_EQ(interval_line(asked, 1 << 20, 0.5),
            "megabytes=1.0000 real_sec=0.50 rate_Mbps=16.7772\n");
  EXPECT_THAT(opening_text(asked, {.rtt_ms = 15.25, .mss = 1448}, "10.0.0.2"),
              testing::HasSubstr("connect=10.0.0.2 mss=1448 rtt_ms=15.250"));
}

TEST(NuttcpResults, OwnTextIsReadBack) {
  const Parameters asked{.sender = Sender::Server, .machine_readable = true};
  const Tally tally{.bytes = 1 << 30,
                    .calls = 10,
                    .seconds = 2,
                    .cpu_seconds = 0.5,
                    .retransmits = 3,
                    .rtt_ms = 15.25,
                    .mss = 1448};
  const Result<ResultText> got =
      read_results(opening_text(asked, tally, "10.0.0.2") + interval_line(asked, 1 << 20, 0.5) +
                   "DONE\n" + closing_text(asked, tally));
  ASSERT_TRUE(got) << got.error().reason;
  EXPECT_EQ(got->bytes(), tally.bytes);
  EXPECT_EQ(got->cpu_percent, 25.0);
  EXPECT_EQ(got->retransmits, 3U);
}

// The words that a stock client scans for.
TEST(NuttcpResults, PeoplesFormHasTheWordsThatClientsScan) {
  const Parameters asked{.sender = Sender::Client};
  const Tally tally{.bytes = 655360, .calls = 11, .seconds = 1.0454, .cpu_seconds = 0.001};
  EXPECT_EQ(opening_text(asked, tally, "127.0.0.1"),
            "nuttcp-r: v6.1.2: socket\n"
            "nuttcp-r: buflen=65536, nstream=1, port=5001 tcp\n"
            "nuttcp-r: accept from 127.0.0.1\n");
  EXPECT_THAT(
      closing_text(asked, tally),
      HasSubstr("nuttcp-r: 0.6250 MB in 1.05 real seconds = 612.21 KB/sec = 5.0152 Mbps\n"));
  EXPECT_THAT(closing_text(asked, tally), HasSubstr("0.0sys 0:01real 0% "));
  EXPECT_EQ(interval_line(asked, 131072, 0.3), "    0.1250 MB /   0.30 sec =    3.4953 Mbps\n");
}

}  // namespace

}  // namespace chokepoint::probe::nuttcp
