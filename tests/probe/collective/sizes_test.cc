#include "probe/collective/sizes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace chokepoint::probe::collective {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::uint64_t> sizes(std::string_view text, double factor = 2) {
  return parse_sizes(text, factor).value();
}

TEST(Sizes, AreOneSomeOrARange) {
  EXPECT_THAT(sizes("64M"), ElementsAre(64U << 20));
  EXPECT_THAT(sizes("1M,1K,1M"), ElementsAre(1024, 1U << 20));
  EXPECT_THAT(sizes("8..64"), ElementsAre(8, 16, 32, 64));
  EXPECT_THAT(sizes("1K..20K", 4), ElementsAre(1024, 4096, 16384));
  EXPECT_THAT(sizes("5..5"), ElementsAre(5));
}

TEST(Sizes, ASlowFactorStillGetsOn) { EXPECT_THAT(sizes("1..4", 1.1), ElementsAre(1, 2, 3, 4)); }

TEST(Sizes, MistakesSayWhatIsWanted) {
  for (const std::string_view text :
       {"", "0", ",", "1K,", "x", "8..", "..8", "9..8", "1..1G..2G", "2000G", "-1", "1K 2K"}) {
    const auto parsed = parse_sizes(text, 2);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().kind, ErrorKind::Usage);
    EXPECT_THAT(describe(parsed.error()), HasSubstr("8..512M")) << text;
  }
  EXPECT_FALSE(parse_sizes("1..1G", 1));
  EXPECT_FALSE(parse_sizes("1..1G", -2));
  EXPECT_FALSE(parse_sizes("1..1G", 1.0001)) << "millions of them";
}

}  // namespace
}  // namespace chokepoint::probe::collective
