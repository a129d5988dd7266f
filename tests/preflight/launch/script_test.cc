#include "preflight/launch/script.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace chokepoint::preflight {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Script, AWordIsQuotedForAnyShell) {
  EXPECT_EQ(quoted("a b"), "'a b'");
  EXPECT_EQ(quoted("it's"), "'it'\\''s'");
  EXPECT_EQ(quoted("$(x) `y` \"z\""), "'$(x) `y` \"z\"'");
  EXPECT_EQ(quoted(""), "''");
}

TEST(Script, ALoginShellSeesOneLineThatEveryOneReadsAlike) {
  for (const Words& words : {agent_words(5210, "1-ab", {"chokepoint"}), copy_words("1-ab")}) {
    const std::string line = as_line(words);
    EXPECT_EQ(line.rfind("exec '/bin/sh' '-c' '", 0), 0U);
    for (const char* odd : {"\n", "\\", "!"}) {
      EXPECT_THAT(line, Not(HasSubstr(odd)));
    }
    EXPECT_THAT(words[2], Not(HasSubstr("'")));
  }
}

TEST(Script, WhatIsForeignIsAWordAndNoPartOfTheScript) {
  const Words words = agent_words(5210, "1-ab", {"/opt/$(reboot)/chokepoint"});
  EXPECT_THAT(words[2], Not(HasSubstr("reboot")));
  EXPECT_EQ(words.back(), "/opt/$(reboot)/chokepoint");
}

}  // namespace
}  // namespace chokepoint::preflight
