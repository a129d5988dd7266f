#include "preflight/launch/launch_method.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>

#include "tests/preflight/launch/fake_hosts.h"

namespace chokepoint::preflight {
namespace {

namespace fs = std::filesystem;
using made::FakeHosts;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Not;
using testing::StartsWith;

const Words kThere{"/bin/sh", "-c", "it's $1", "chokepoint", "a b"};

// The last `count` of them.
Words end_of(const Words& words, std::ptrdiff_t count) {
  return {words.end() - count, words.end()};
}

TEST(LaunchMethod, SshIsGivenOneLineForTheLoginShellAndAsksNobody) {
  const Words words = launch_method_of(Launcher::Ssh).command("gpu1", kThere);
  EXPECT_THAT(words, Contains("BatchMode=yes"));
  EXPECT_THAT(end_of(words, 3),
              ElementsAre("--", "gpu1", "exec '/bin/sh' '-c' 'it'\\''s $1' 'chokepoint' 'a b'"));
}

TEST(LaunchMethod, OthersAreGivenTheWordsAsTheyAre) {
  for (const Launcher launcher : {Launcher::Slurm, Launcher::Mpirun}) {
    EXPECT_EQ(end_of(launch_method_of(launcher).command("gpu1", kThere), 5), kThere);
  }
  EXPECT_THAT(launch_method_of(Launcher::Slurm).command("gpu1", kThere),
              IsSupersetOf({"srun", "--overlap", "--nodelist=gpu1"}));
  EXPECT_THAT(launch_method_of(Launcher::Mpirun).command("gpu1", kThere),
              IsSupersetOf({"mpirun", "--host", "gpu1:1"}));
}

TEST(LaunchMethod, OnlySshCarriesACopy) {
  EXPECT_TRUE(launch_method_of(Launcher::Ssh).can_copy);
  EXPECT_FALSE(launch_method_of(Launcher::Slurm).can_copy);
  EXPECT_FALSE(launch_method_of(Launcher::Mpirun).can_copy);
}

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

TEST(Copy, IsNamedByVersionAndContent) {
  const FakeHosts hosts;
  const std::string release = hosts.release().string();
  const std::string before = Copy::of_file(release, "1.2").value().name();
  EXPECT_THAT(before, StartsWith("1.2-"));
  EXPECT_EQ(Copy::of_file(release, "1.2").value().name(), before);
  made::program(release, "another");
  EXPECT_NE(Copy::of_file(release, "1.2").value().name(), before);
}

TEST(Copy, OfAProgramThatNeedsFilesBesideItIsNone) {
  const FakeHosts hosts;
  EXPECT_THAT(describe(Copy::of_this_program(hosts.release(), "1").error()),
              HasSubstr("--copy FILE"));
}

TEST(Copy, EachReaderBeginsAtTheBeginning) {
  const FakeHosts hosts;
  const Copy copy = Copy::of_file(hosts.release().string(), "1").value();
  for (int i = 0; i < 2; ++i) {
    const sys::Descriptor program = copy.open().value();
    std::array<char, 2> first{};
    ASSERT_EQ(read(program.get(), first.data(), first.size()), 2);
    EXPECT_EQ(first, (std::array{'#', '!'}));
  }
}

TEST(Copy, OfAFileThatIsNotThereIsNone) {
  EXPECT_THAT(describe(Copy::of_file("/nowhere/chokepoint", "1").error()),
              HasSubstr("/nowhere/chokepoint"));
}

}  // namespace

}  // namespace chokepoint::preflight
