#include "base/checks/check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/cli/text.h"

namespace chokepoint::checks {
namespace {

using testing::HasSubstr;

Check check(const std::string& id, Status status) {
  return {.id = id, .status = status, .subject = "eth0", .found = "1000 Mb/s", .wanted = "10000"};
}

TEST(Summary, OfACheckIsWhatWasFoundAndWanted) {
  EXPECT_EQ(brief(check("nic.speed", Status::Critical)), "nic.speed eth0: 1000 Mb/s, wanted 10000");
  EXPECT_EQ(brief({.id = "nic.link", .subject = "eth0", .found = "down"}), "nic.link eth0: down");
  EXPECT_EQ(brief({.id = "nic.link", .subject = "eth0"}), "nic.link eth0");
}

TEST(Summary, HasWhatIsBadEnoughTheWorstFirst) {
  const Checks checks{check("a", Status::Warning), check("b", Status::Pass),
                      check("c", Status::Critical), check("d", Status::Unknown)};
  EXPECT_EQ(summary(checks, Status::Critical), "c eth0: 1000 Mb/s, wanted 10000");
  EXPECT_EQ(summary(checks, Status::Warning),
            "c eth0: 1000 Mb/s, wanted 10000; a eth0: 1000 Mb/s, wanted 10000");
  EXPECT_EQ(summary({check("b", Status::Pass)}, Status::Warning), "");
}

TEST(Summary, StaysOneShortLine) {
  Check odd = check("a", Status::Critical);
  odd.found = "\x1b[31m\nrm -rf /\xff" + std::string(1000, 'x');
  const std::string line = summary({odd, odd, odd, odd, odd}, Status::Critical);
  EXPECT_LT(line.size(), 500U);
  EXPECT_THAT(line, HasSubstr("(and 2 more)"));
  EXPECT_EQ(line.find_first_of("\x1b\n\xff"), std::string::npos);
}

TEST(Summary, CutsBetweenLetters) {
  Check odd = check("a", Status::Critical);
  for (int i = 0; i < 3; ++i) {
    odd.found = std::string(static_cast<std::size_t>(i), 'x');
    for (int k = 0; k < 100; ++k) {
      odd.found += "…";
    }
    const std::string line = brief(odd);
    EXPECT_EQ(cli::valid_utf8(line), line);
  }
}

}  // namespace
}  // namespace chokepoint::checks
