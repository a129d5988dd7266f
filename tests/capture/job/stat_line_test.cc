#include "capture/job/stat_line.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace chokepoint::capture::job {
namespace {

TEST(StatLine, ANameMayHoldWhatTheLineIsMadeOf) {
  const auto stat = parse_stat(
      "42 (a) R (b) S 7 9 9 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 12345 8192 100 184 1 2 777 3 4 "
      "0 0 0 0 0 0 0 17 0 0 0 0 0 0 1 2 3 21 22 31 32 256\n");
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->name, "a) R (b");
  EXPECT_EQ(stat->state, 'S');
  EXPECT_EQ(stat->parent, 7);
  EXPECT_EQ(stat->group, 9);
  EXPECT_EQ(stat->start_ticks, 12345U);
  EXPECT_EQ(stat->stack, 777U);
  EXPECT_EQ(stat->arguments, 21U);
  EXPECT_EQ(stat->environment_end, 32U);
  EXPECT_EQ(stat->wait_status, 256);
}

TEST(StatLine, OlderKernelsEndTheLineSooner) {
  const auto stat = parse_stat("1 (init) S 0 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 5");
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->start_ticks, 5U);
  EXPECT_EQ(stat->environment, 0U);
}

TEST(StatLine, WhatTheKernelWouldNotWriteIsRefused) {
  for (const char* line : {"", "1", "1 (init", "1 (init) ", ") 1 (", "1 (init) S 0 1"}) {
    EXPECT_FALSE(parse_stat(line)) << line;
  }
}

TEST(StatLine, OfThisProcess) {
  const auto stat = read_stat(sys::Root(), getpid());
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->parent, getppid());
  EXPECT_EQ(stat->group, getpgrp());
  EXPECT_FALSE(stat->has_ended());
  EXPECT_NE(stat->environment, 0U);
}

}  // namespace
}  // namespace chokepoint::capture::job
