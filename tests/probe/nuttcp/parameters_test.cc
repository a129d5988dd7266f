#include "probe/nuttcp/parameters.h"

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

}  // namespace
}  // namespace chokepoint::probe::nuttcp
