// What a person sees: tables, progress, wrapped text, guesses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "base/cli/context.h"
#include "base/cli/table.h"
#include "base/cli/text.h"
#include "tests/fakes/manual_clock.h"

namespace chokepoint::cli {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::string printed(const Table& table, const Terminal& terminal) {
  std::ostringstream out;
  table.print(out, terminal);
  return out.str();
}

TEST(Table, AlignsColumnsByLettersNotBytes) {
  Table table({{"name"}, {"rate", Align::Right}, {"note"}});
  table.add({"eth0", "9.41", "µs"});
  table.add({"ünïx", "100.00", "ok"});
  EXPECT_EQ(printed(table, {}),
            "name    rate  note\n"
            "eth0    9.41  µs\n"
            "ünïx  100.00  ok\n");
}

TEST(Table, WrapsTheLastColumn) {
  Table table({{"id"}, {"why"}});
  table.add({"a", "one two three four five six seven eight"});
  EXPECT_EQ(printed(table, {.width = 30}),
            "id  why\n"
            "a   one two three four five\n"
            "    six seven eight\n");
}

TEST(Table, ColoursOnlyWhereWelcome) {
  Table table({{"status"}});
  table.add({{"CRITICAL", Tint::Bad}});
  EXPECT_THAT(printed(table, {.color = false}), Not(HasSubstr("\033")));
  EXPECT_THAT(printed(table, {.color = true}), HasSubstr("\033[31mCRITICAL\033[0m"));
}

TEST(Table, AShortRowHasEmptyCells) {
  Table table({{"a"}, {"b"}});
  table.add({"x"});
  EXPECT_EQ(printed(table, {}), "a  b\nx\n");
}

class ProgressTest : public testing::Test {
 protected:
  Context context(bool interactive, bool quiet = false) {
    return {.out = out_,
            .err = err_,
            .clock = clock_,
            .root = sys::Root("/nowhere"),
            .environment = {},
            .out_terminal = {},
            .err_terminal = {.interactive = interactive},
            .json = false,
            .quiet = quiet};
  }
  std::ostringstream out_;
  std::ostringstream err_;
  fakes::ManualClock clock_;
};

TEST_F(ProgressTest, ShowsShareAndTimeLeftAndCleansUp) {
  const Context terminal = context(true);
  {
    Progress progress(terminal, "pairs", 10);
    clock_.advance(5'000'000'000);
    progress.update(5);
    EXPECT_THAT(err_.str(), HasSubstr("pairs [############............]  50 %  5.00 s left"));
  }
  EXPECT_TRUE(err_.str().ends_with("\r\033[K"));
}

TEST_F(ProgressTest, RedrawsAtMostTenTimesASecond) {
  const Context terminal = context(true);
  Progress progress(terminal, "pairs", 10);
  progress.update(1);
  const std::string first = err_.str();
  progress.update(2);
  EXPECT_EQ(err_.str(), first);
  clock_.advance(100'000'000);
  progress.update(3);
  EXPECT_NE(err_.str(), first);
}

TEST_F(ProgressTest, IsSilentWithoutATerminalOrUnderQuiet) {
  for (const Context& silent : {context(false), context(true, true)}) {
    Progress(silent, "pairs", 10).update(5);
  }
  EXPECT_THAT(err_.str(), IsEmpty());
}

TEST(Terminal, NoColorIsRespected) {
  const auto none = [](const std::string&) { return std::nullopt; };
  EXPECT_FALSE(terminal_of(-1, none).interactive);
  EXPECT_FALSE(terminal_of(-1, none).color);
  const auto wide = [](const std::string& name) {
    return name == "COLUMNS" ? std::optional<std::string>("132") : std::nullopt;
  };
  EXPECT_EQ(terminal_of(-1, wide).width, 132);
}

TEST(Spelling, CountsSlips) {
  EXPECT_EQ(edit_distance("doctor", "doctor"), 0U);
  EXPECT_EQ(edit_distance("doctro", "doctor"), 1U);
  EXPECT_EQ(edit_distance("", "abc"), 3U);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
}

TEST(Spelling, OnlyWhatIsNearIsMeant) {
  const std::vector<std::string> known{"doctor", "serve", "record show"};
  EXPECT_EQ(nearest("doktor", known), "doctor");
  EXPECT_EQ(nearest("banana", known), "");
  EXPECT_EQ(nearest("", known), "");
}

TEST(Wrapped, KeepsParagraphs) {
  EXPECT_EQ(wrapped("one two\n\nthree", 40, 2), "  one two\n\n  three\n");
}

}  // namespace
}  // namespace chokepoint::cli
