#include "base/sys/pipe.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <string_view>

namespace chokepoint::sys {
namespace {

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
