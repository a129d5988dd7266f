#include "base/sys/descriptor.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <string_view>

namespace chokepoint::sys {
namespace {

using testing::HasSubstr;

TEST(DescriptorLimit, WhatIsMoreThanThereMayBeIsSaidSo) {
  EXPECT_TRUE(want_descriptors(1));
  const Result<> all = want_descriptors(SIZE_MAX / 2);
  if (all) {
    GTEST_SKIP() << "this system has no such limit";
  }
  EXPECT_EQ(all.error().kind, ErrorKind::Exhausted);
  EXPECT_THAT(all.error().next_step, HasSubstr("ulimit -Hn"));
}

TEST(Pipe, CarriesWhatIsWritten) {
  const Result<Pipe> pipe = open_pipe("start", "test");
  ASSERT_TRUE(pipe);
  ASSERT_EQ(write(pipe->write.get(), "words", 5), 5);
  std::array<char, 8> got{};
  ASSERT_EQ(read(pipe->read.get(), got.data(), got.size()), 5);
  EXPECT_EQ(std::string_view(got.data(), 5), "words");
}

// A writing end in a child's hand would keep the pipe open for ever.
TEST(Pipe, IsInheritedByNoChild) {
  const Result<Pipe> pipe = open_pipe("start", "test");
  ASSERT_TRUE(pipe);
  for (const int end : {pipe->read.get(), pipe->write.get()}) {
    EXPECT_NE(fcntl(end, F_GETFD) & FD_CLOEXEC, 0);
  }
}

}  // namespace
}  // namespace chokepoint::sys
