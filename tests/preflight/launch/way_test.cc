#include "preflight/launch/way.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace chokepoint::preflight {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsSupersetOf;

const Words kThere{"/bin/sh", "-c", "it's $1", "chokepoint", "a b"};

// The last `count` of them.
Words end_of(const Words& words, std::ptrdiff_t count) {
  return {words.end() - count, words.end()};
}

TEST(Way, SshIsGivenOneLineForTheLoginShellAndAsksNobody) {
  const Words words = way_of(Launcher::Ssh).command("gpu1", kThere);
  EXPECT_THAT(words, Contains("BatchMode=yes"));
  EXPECT_THAT(end_of(words, 3),
              ElementsAre("--", "gpu1", "exec '/bin/sh' '-c' 'it'\\''s $1' 'chokepoint' 'a b'"));
}

TEST(Way, OthersAreGivenTheWordsAsTheyAre) {
  for (const Launcher launcher : {Launcher::Slurm, Launcher::Mpirun}) {
    EXPECT_EQ(end_of(way_of(launcher).command("gpu1", kThere), 5), kThere);
  }
  EXPECT_THAT(way_of(Launcher::Slurm).command("gpu1", kThere),
              IsSupersetOf({"srun", "--overlap", "--nodelist=gpu1"}));
  EXPECT_THAT(way_of(Launcher::Mpirun).command("gpu1", kThere),
              IsSupersetOf({"mpirun", "--host", "gpu1:1"}));
}

TEST(Way, OnlySshCarriesACopy) {
  EXPECT_TRUE(way_of(Launcher::Ssh).can_copy);
  EXPECT_FALSE(way_of(Launcher::Slurm).can_copy);
  EXPECT_FALSE(way_of(Launcher::Mpirun).can_copy);
}

}  // namespace
}  // namespace chokepoint::preflight
