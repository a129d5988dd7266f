// The file of limits: what is read from it, what is wrong with it, and that it prints as it reads.

#include "preflight/judge/limits.h"

#include <gmock/gmock.h>

#include <fstream>

#include "tests/fakes/golden.h"

namespace chokepoint::preflight {
namespace {

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

TEST(Limits, PictureOfMistakes) {
  fakes::Sentences sentences;
  for (const char* toml :
       {"[link]\n\nsahre = 0.8\n", "[lnk]\n", "[[hosts]]\nname = 'a'\nrate = 3\n",
        "[doctor]\ntakes = 'warning'\n", "[link]\nshare = 'most'\n", "[link]\nshare = 80\n",
        "[link]\nshare = nan\n", "link = 3\n", "hosts = 3\n", "[hosts]\nname = 'a'\n",
        "[[hosts]]\nname = 'a'\n", "[[hosts]]\nname = 3\nrate_mbps = 3\n",
        "[doctor]\ntake = 'all'\n"}) {
    const auto limits = limits_in(toml, "limits.toml");
    ASSERT_FALSE(limits) << toml;
    EXPECT_EQ(limits.error().kind, ErrorKind::Usage) << toml;
    sentences.add(toml, describe(limits.error()));
  }
  EXPECT_GOLDEN("sentences_limits", sentences.text());
}

// The words are those of the library that reads them.
TEST(Limits, ThatAreNoTomlAreToldWithTheirLine) {
  const auto place_of_mistake = [](std::string_view toml) {
    const auto limits = limits_in(toml, "limits.toml");
    return limits ? std::string() : limits.error().subject;
  };
  EXPECT_EQ(place_of_mistake("[link]\nshare = \n"), "limits.toml line 2");
  EXPECT_EQ(place_of_mistake(std::string("\0\xff\x1b[31m", 7)), "limits.toml line 1");
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
