// The file of limits: what is read from it, what is wrong with it, and that it prints as it reads.

#include "preflight/judge/limits.h"

#include <gmock/gmock.h>

#include <fstream>

namespace chokepoint::preflight {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string mistake(std::string_view toml) {
  const auto limits = limits_in(toml, "limits.toml");
  EXPECT_FALSE(limits);
  return limits ? "" : describe(limits.error());
}

TEST(Limits, PrintAsTheyRead) { EXPECT_EQ(limits_in(limits_text({}), "defaults"), Limits{}); }

TEST(Limits, ThatAreSetPrintAsTheyRead) {
  Limits limits;
  limits.link_rate_mbps = 25'000;
  limits.link_share = 0.123456789012345678;
  limits.wan_rate_mbps = 0.5;
  limits.host_rates = {{"gpu[0-3]*", 1e5}, {"a \"b\"\\\n\x7f", 3}};
  limits.doctor_taken = DoctorTaken::Nothing;
  limits.clock_critical_ms = 1e7;
  EXPECT_EQ(limits_in(limits_text(limits), "set"), limits);
}

TEST(Limits, LeftOutAreTheDefaults) {
  const auto limits = limits_in("[loss]\npercent = 1\n", "limits.toml");
  ASSERT_TRUE(limits);
  EXPECT_EQ(*limits, Limits{.loss_percent = 1});
}

TEST(Limits, OfHostsGoByTheFirstPatternThatMatches) {
  const auto limits = limits_in(
      "[link]\nrate_mbps = 1000\n[[hosts]]\nname = 'gpu1'\nrate_mbps = 5\n"
      "[[hosts]]\nname = 'gpu*'\nrate_mbps = 6\n",
      "limits.toml");
  ASSERT_TRUE(limits);
  EXPECT_EQ(link_rate_of(*limits, "gpu1"), 5);
  EXPECT_EQ(link_rate_of(*limits, "gpu12"), 6);
  EXPECT_EQ(link_rate_of(*limits, "cpu1"), 1000);
  EXPECT_EQ(link_rate_of({}, "cpu1"), std::nullopt);
}

TEST(Limits, UnknownKeysAreToldWithTheirLineAndTheNearestKnown) {
  EXPECT_THAT(mistake("[link]\n\nsahre = 0.8\n"),
              AllOf(HasSubstr("limits.toml line 3"), HasSubstr("no such key in [link]: 'sahre'"),
                    HasSubstr("did you mean 'share'?"), HasSubstr("--print-limits")));
  EXPECT_THAT(mistake("[lnk]\n"), AllOf(HasSubstr("line 1"), HasSubstr("did you mean 'link'?")));
  EXPECT_THAT(mistake("[[hosts]]\nname = 'a'\nrate = 3\n"),
              AllOf(HasSubstr("line 3"), HasSubstr("'rate'")));
  EXPECT_THAT(mistake("[doctor]\ntakes = 'warning'\n"), HasSubstr("did you mean 'take'?"));
}

TEST(Limits, WrongTypesAndValuesAreToldWithTheirLine) {
  EXPECT_THAT(mistake("[link]\nshare = 'most'\n"),
              AllOf(HasSubstr("line 2"), HasSubstr("'share' must be a number")));
  EXPECT_THAT(mistake("[link]\nshare = 80\n"), HasSubstr("'share' must be from 0.01 to 1"));
  EXPECT_THAT(mistake("[link]\nshare = nan\n"), HasSubstr("'share' must be from"));
  EXPECT_THAT(mistake("link = 3\n"), HasSubstr("'link' must be a table"));
  EXPECT_THAT(mistake("hosts = 3\n"), HasSubstr("[[hosts]]"));
  EXPECT_THAT(mistake("[hosts]\nname = 'a'\n"), HasSubstr("[[hosts]]"));
  EXPECT_THAT(mistake("[[hosts]]\nname = 'a'\n"), HasSubstr("needs both"));
  EXPECT_THAT(mistake("[[hosts]]\nname = 3\nrate_mbps = 3\n"), HasSubstr("'name' must be"));
  EXPECT_THAT(mistake("[doctor]\ntake = 'all'\n"), HasSubstr("'take' must be"));
}

TEST(Limits, ThatAreNoTomlAreToldWithTheirLine) {
  EXPECT_THAT(mistake("[link]\nshare = \n"), HasSubstr("limits.toml line 2"));
  EXPECT_THAT(mistake(std::string("\0\xff\x1b[31m", 7)), HasSubstr("line 1"));
  EXPECT_EQ(limits_in("[link\n", "x").error().kind, ErrorKind::Usage);
}

TEST(Limits, OfAFileThatIsNotThere) {
  const auto limits = read_limits("/nowhere/limits.toml");
  ASSERT_FALSE(limits);
  EXPECT_EQ(limits.error().kind, ErrorKind::NotFound);
  EXPECT_FALSE(read_limits("/"));
}

TEST(Limits, OfAFileAreRead) {
  const std::string file = testing::TempDir() + "/limits.toml";
  std::ofstream(file) << "[clock]\noffset_ms = 7\n";
  const auto limits = read_limits(file);
  ASSERT_TRUE(limits) << describe(limits.error());
  EXPECT_EQ(limits->clock_offset_ms, 7);
}

}  // namespace
}  // namespace chokepoint::preflight
