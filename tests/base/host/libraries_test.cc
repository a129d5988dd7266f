#include "base/host/libraries.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/host_tree.h"

namespace chokepoint::host {
namespace {

TEST(Libraries, NcclsNumberHasHadTwoForms) {
  EXPECT_EQ(nccl_version_text(22105), "2.21.5");
  EXPECT_EQ(nccl_version_text(22809), "2.28.9");
  EXPECT_EQ(nccl_version_text(2809), "2.8.9");
}

TEST(Libraries, TheModuleForPeerMemoryHasTwoNames) {
  const auto loaded = [](const char* modules) {
    return has_peer_memory(fakes::HostTree::from_text(modules).root());
  };
  EXPECT_EQ(loaded("/proc/modules = nvidia_peermem 16384 0 - Live 0x0\n"), true);
  EXPECT_EQ(loaded("/proc/modules = nv_peer_mem 16384 0 - Live 0x0\n"), true);
  EXPECT_EQ(loaded("/proc/modules = nvidia 1 0 - Live 0x0\n"), false);
  EXPECT_EQ(loaded(""), std::nullopt);
}

TEST(Libraries, TheRunningHostIsAskedWithoutHarm) {
  const Libraries libraries = read_libraries(sys::Root());
  for (const auto* found : {&libraries.nccl, &libraries.cuda, &libraries.verbs}) {
    EXPECT_TRUE(!*found || !(*found)->path.empty());
  }
}

TEST(Libraries, TheBuildNamesWhatItStandsOn) {
  EXPECT_THAT(build_features(), testing::Contains(testing::Pair("boost", testing::Not(""))));
  EXPECT_THAT(build_features(),
              testing::Contains(testing::Pair("sqlite", testing::StartsWith("3"))));
}

}  // namespace
}  // namespace chokepoint::host
