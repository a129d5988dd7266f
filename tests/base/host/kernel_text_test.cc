#include "base/host/kernel_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace chokepoint::host {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Words, AreApartByAnyWhiteSpace) {
  EXPECT_THAT(words_of(" 4096\t131072  6291456\n"), ElementsAre("4096", "131072", "6291456"));
  EXPECT_THAT(words_of(" \t"), IsEmpty());
}

TEST(Words, LinesLeaveOutEmptyOnes) {
  EXPECT_THAT(lines_of("a b\n\nc\n"), ElementsAre("a b", "c"));
}

TEST(Words, ANumberIsTheWholeText) {
  EXPECT_EQ(number_of("42"), 42);
  EXPECT_EQ(number_of("0a", 16), 10);
  EXPECT_EQ(number_of("42 kB"), std::nullopt);
  EXPECT_EQ(number_of(""), std::nullopt);
}

TEST(Words, CpuListsHaveRanges) {
  EXPECT_THAT(cpus_of("0-2,8"), ElementsAre(0, 1, 2, 8));
  EXPECT_THAT(cpus_of("0-x"), IsEmpty());
  EXPECT_THAT(cpus_of("0-99999999999"), IsEmpty());
}

TEST(Words, CpusAreWrittenAsRanges) {
  EXPECT_EQ(list_of_cpus({0, 1, 2, 5, 7, 8}), "0-2,5,7-8");
  EXPECT_EQ(list_of_cpus({}), "");
}

}  // namespace
}  // namespace chokepoint::host
