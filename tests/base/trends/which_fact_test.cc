#include "base/trends/which_fact.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace chokepoint::trends {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

const EffectOnHost kEffect{"gpu3", {100, 200}};

TEST(WhichFactTest, NothingWhereNothingKnownChanged) {
  EXPECT_THAT(which_fact(kEffect, {}, {}), IsEmpty());
  const std::vector<SettingChange> changes{{"gpu3", "driver", "1", "2", {200, 300}},
                                           {"gpu3", "kernel", "1", "2", {10, 100}},
                                           {"gpu4", "driver", "1", "2", {100, 200}}};
  EXPECT_THAT(which_fact(kEffect, {}, changes), IsEmpty());
}

TEST(WhichFactTest, WhatChangedThereAloneComesBeforeWhatChangedEverywhere) {
  std::vector<SettingChange> changes;
  for (const char* host : {"gpu1", "gpu2", "gpu3", "gpu4"}) {
    changes.push_back({host, "kernel", "6.1", "6.2", {140, 160}});
  }
  changes.push_back({"gpu3", "nic_rate", "400", "200", {90, 210}});
  const auto links = which_fact(kEffect, {}, changes);
  ASSERT_THAT(links, SizeIs(2));
  EXPECT_EQ(links[0].fact, "nic_rate");
  EXPECT_EQ(links[0].hosts_with_both, 1U);
  EXPECT_EQ(links[0].hosts_without_effect, 0U);
  EXPECT_EQ(links[1].fact, "kernel");
  EXPECT_EQ(links[1].hosts_without_effect, 3U);
}

TEST(WhichFactTest, WhatWentTogetherOnSeveralHostsComesFirst) {
  const std::vector<EffectOnHost> effects{{"gpu1", {1000, 1100}}, {"gpu2", {2000, 2100}}, kEffect};
  const std::vector<SettingChange> changes{{"gpu3", "cable", "a", "b", {120, 150}},
                                           {"gpu1", "driver", "550", "560", {1050, 1060}},
                                           {"gpu2", "driver", "550", "560", {2050, 2060}},
                                           {"gpu3", "driver", "550", "560", {150, 160}}};
  const auto links = which_fact(kEffect, effects, changes);
  ASSERT_THAT(links, SizeIs(2));
  EXPECT_EQ(links[0].fact, "driver");
  EXPECT_EQ(links[0].hosts_with_both, 3U);
  EXPECT_EQ(links[0].hosts_without_fact, 0U);
  EXPECT_EQ(links[1].hosts_without_fact, 2U);
}

TEST(WhichFactTest, WhatChangesAllTheTimeComesLast) {
  std::vector<SettingChange> changes;
  for (std::int64_t day = 0; day < 10; ++day) {
    changes.push_back({"gpu3",
                       "boot_id",
                       std::to_string(day),
                       std::to_string(day + 1),
                       {day * 50, day * 50 + 1}});
  }
  changes.push_back({"gpu3", "bios", "1", "2", {0, 190}});
  changes.push_back({"gpu4", "bios", "1", "2", {0, 190}});
  const auto links = which_fact(kEffect, {}, changes);
  ASSERT_FALSE(links.empty());
  EXPECT_EQ(links[0].fact, "bios");
  EXPECT_EQ(links[1].fact, "boot_id");
  EXPECT_EQ(links[1].other_changes, 8U);
}

}  // namespace
}  // namespace chokepoint::trends
