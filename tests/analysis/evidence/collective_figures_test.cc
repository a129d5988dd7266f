#include "analysis/evidence/collective_figures.h"

#include <gmock/gmock.h>

namespace chokepoint::analysis {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::DoubleNear;
using testing::Field;
using testing::HasSubstr;
using testing::Not;
using testing::Optional;
using About = Claim::About;

// 40 us and 8 us for each further MB, that is 1 Tb/s; the bus carries 1.5 times as much.
ToolFile benchmark() {
  MeasuredCollective measured{.collective = "all-reduce", .ranks = 4};
  for (double bytes = 8; bytes <= 1 << 30; bytes *= 4) {
    const double time_us = 40 + bytes * 8e-6;
    measured.sizes.push_back(
        {.bytes = bytes, .time_us = time_us, .bus_mbps = 1.5 * bytes * 8 / time_us});
  }
  return {.tool = Tool::NcclTests,
          .file = "all_reduce.txt",
          .collectives = {measured},
          .hosts = {"a", "b"}};
}

TEST(ACollectivesBenchmark, SaysWhatItReachedAndFitsLatencyAndBandwidth) {
  const auto claims = claims_of_collectives({benchmark()});
  ASSERT_FALSE(claims.empty());
  EXPECT_EQ(claims[0].about, About::Benchmark);
  EXPECT_THAT(claims[0].what, HasSubstr("all-reduce of 4 ranks on 2 hosts reaches 1.49 Tb/s"));
  EXPECT_THAT(claims,
              Contains(AllOf(Field(&Claim::unit, "us"), Field(&Claim::what, HasSubstr("no bytes")),
                             Field(&Claim::value, Optional(DoubleNear(40, 0.1))))));
  EXPECT_THAT(claims, Contains(AllOf(Field(&Claim::what, HasSubstr("further byte")),
                                     Field(&Claim::value, Optional(DoubleNear(1e6, 1e3))))));
  EXPECT_THAT(claims, Not(Contains(Field(&Claim::about, About::Drop))));
}

TEST(ACollectivesBenchmark, NamesTheSizeAtWhichItBreaksDown) {
  ToolFile file = benchmark();
  MeasuredSize& size = file.collectives[0].sizes[12];  // 128 MiB
  size.time_us *= 3;
  size.bus_mbps /= 3;
  const auto claims = claims_of_collectives({file});
  EXPECT_EQ(claims.at(0).about, About::Drop);
  EXPECT_THAT(claims[0].what, HasSubstr("at 128 MiB"));
}

TEST(ACollectivesBenchmark, OfWrongResultsSaysThatFirst) {
  ToolFile file = benchmark();
  file.collectives[0].sizes[12].wrong = 7;
  const auto claims = claims_of_collectives({benchmark(), file});
  EXPECT_EQ(claims.at(0).about, About::Wrong);
  EXPECT_THAT(claims[0].value, Optional(7));
}

TEST(ACollectivesBenchmark, OfOneSizeHasNoFit) {
  ToolFile file = benchmark();
  file.collectives[0].sizes.resize(1);
  file.collectives[0].sizes[0].bus_mbps = 100;
  EXPECT_THAT(claims_of_collectives({file}),
              Not(Contains(Field(&Claim::what, HasSubstr("no bytes")))));
}

// As nccl-tests prints it: small sizes without a bandwidth, results checked.
TEST(ACollectivesBenchmark, IsReadWithTheTimesOfSmallSizesAndTheResultsThatAreWrong) {
  const auto file = read_tool_file(
      "# nThread 1 nGpus 8 minBytes 8 maxBytes 1024 step: 2(factor)\n"
      "#       size         count      type   redop    root     time   algbw   busbw #wrong     "
      "time"
      "   algbw   busbw #wrong\n"
      "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            "
      "(us)"
      "  (GB/s)  (GB/s)\n"
      "           8             2     float     sum      -1    34.41    0.00    0.00      0    "
      "33.80"
      "    0.00    0.00      0\n"
      "    33554432       8388608     float     sum      -1    412.0   81.44  142.52      0    "
      "409.0"
      "   82.04  143.57      3\n"
      "    67108864      16777216     float     sum      -1    812.0   82.64  144.62    N/A    "
      "809.0"
      "   82.95  145.16    N/A\n",
      "all_reduce_perf.txt");
  ASSERT_TRUE(file) << describe(file.error());
  const MeasuredCollective& measured = file->collectives.at(0);
  EXPECT_EQ(measured.collective, "all-reduce");
  ASSERT_EQ(measured.sizes.size(), 3U);
  EXPECT_EQ(measured.sizes[0].time_us, 33.80);
  EXPECT_EQ(measured.sizes[1].wrong, 3);
  EXPECT_EQ(measured.sizes[2].wrong, 0);
  EXPECT_NEAR(measured.sizes[2].bus_mbps, 145.16 * 8e3, 1e-6);
}

TEST(ACollectivesBenchmark, MayHaveTheTagsOfALauncher) {
  for (const char* tag : {"[1,0]<stdout>:", "0: "}) {
    const std::string text =
        std::string(tag) + "# nccl-tests version 2.18.0\n" + tag +
        "# Collective test starting: all_reduce_perf_mpi\n" + tag + "# nThread 1 nGpus 1\n" + tag +
        "#  Rank  0 Group  0 Pid 29 on        lab device  0 [0000:02:00] NVIDIA\n" + tag +
        "#       size         count      type   redop    root     time   algbw   busbw  #wrong\n" +
        tag + "     1048576        262144     float     sum      -1  4366.46    0.24    0.24   0\n";
    const auto file = read_tool_file(text, "job.out");
    ASSERT_TRUE(file) << tag;
    EXPECT_EQ(file->collectives.at(0).sizes.size(), 1U) << tag;
    EXPECT_EQ(file->hosts, std::vector<std::string>{"lab"}) << tag;
  }
}

}  // namespace
}  // namespace chokepoint::analysis
