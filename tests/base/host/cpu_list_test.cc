#include "base/host/cpu_list.h"

#include <gtest/gtest.h>

namespace chokepoint::host {
namespace {

TEST(CpuList, ReadsRangesAndSingles) {
  EXPECT_EQ(parse_cpu_list("0-3,8"), (CpuSet{0, 1, 2, 3, 8}));
  EXPECT_EQ(parse_cpu_list("7"), CpuSet{7});
  EXPECT_EQ(parse_cpu_list("4,2,2"), (CpuSet{2, 4}));
}

TEST(CpuList, RefusesWhatIsNoList) {
  for (const char* text : {"", "a", "3-1", "0-", "-1", "0-99999999", "0 1"}) {
    EXPECT_EQ(parse_cpu_list(text), std::nullopt) << text;
  }
}

TEST(CpuList, ReadsMasksFromTheRight) {
  EXPECT_EQ(parse_cpu_mask("00000000,00000105"), (CpuSet{0, 2, 8}));
  EXPECT_EQ(parse_cpu_mask("1,00000000"), CpuSet{32});
  EXPECT_EQ(parse_cpu_mask("x"), std::nullopt);
}

TEST(CpuList, WritesRanges) {
  EXPECT_EQ(format_cpu_list({0, 1, 2, 5, 7, 8}), "0-2,5,7-8");
  EXPECT_EQ(format_cpu_list({}), "");
}

}  // namespace
}  // namespace chokepoint::host
