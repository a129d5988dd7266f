#include "capture/commands/progress.h"

#include <gtest/gtest.h>

namespace chokepoint::capture {
namespace {

TEST(Cut, ALineThatFitsStaysAsItIs) { EXPECT_EQ(cut("12345", 5), "12345"); }

TEST(Cut, ALongLineEndsAtTheEdgeAndWithoutColour) { EXPECT_EQ(cut("123456", 5), "12345\033[0m"); }

TEST(Cut, ColoursTakeNoRoom) { EXPECT_EQ(cut("\033[1m12345\033[0m", 5), "\033[1m12345\033[0m"); }

TEST(Cut, LettersCountNotBytes) { EXPECT_EQ(cut("µµµ×", 4), "µµµ×"); }

}  // namespace
}  // namespace chokepoint::capture
