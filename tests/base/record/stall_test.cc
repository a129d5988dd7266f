#include "base/record/stall.h"

#include <gtest/gtest.h>

namespace chokepoint::record {
namespace {

TEST(StallDetail, ReadsAsItWasWritten) {
  const Stall stall{.state = StallState::Stands,
                    .since_ns = 5,
                    .usual_ms = 80.5,
                    .limit_ms = 10'000,
                    .ranks = {{.rank = 3,
                               .pid = 17,
                               .does = RankDoes::Reads,
                               .file = "/data/\"x\"",
                               .stack = {"rpc_wait", "read"},
                               .collectives = {{.kind = "all-reduce", .number = 641}}}},
                    .paths = {{.flow = 7, .peer = "10.0.0.2", .unacked_packets = 3}}};
  const auto read = stall_in(text_of(stall));
  ASSERT_TRUE(read);
  EXPECT_EQ(text_of(*read), text_of(stall));
  EXPECT_EQ(read->ranks.at(0).does, RankDoes::Reads);
  EXPECT_EQ(read->ranks.at(0).file, "/data/\"x\"");
}

TEST(StallDetail, OfWhatIsNoneIsNone) {
  const std::string good = text_of(Stall{});
  for (const std::string& text :
       {std::string(), std::string("{}"), std::string("[]"), good.substr(0, good.size() / 2),
        std::string(
            R"({"state":"dances","since_ns":1,"usual_ms":1,"limit_ms":1,"ranks":[],"paths":[]})"),
        std::string(std::size_t{2} << 20, '[')}) {
    EXPECT_FALSE(stall_in(text)) << text.substr(0, 60);
  }
}

}  // namespace
}  // namespace chokepoint::record
