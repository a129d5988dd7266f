#include "probe/host/library_checks.h"

#include <gtest/gtest.h>

namespace chokepoint::probe {
namespace {

Checks checks_of(const host::Libraries& libraries, std::optional<bool> peer_memory,
                 DevicesPresent present) {
  Checks checks;
  check_libraries(libraries, peer_memory, present, checks);
  return checks;
}

TEST(Libraries, WhatIsFoundIsTold) {
  host::Libraries libraries;
  libraries.nccl = host::FoundLibrary{"2.21.5", "/usr/lib/libnccl.so.2"};
  const Checks checks = checks_of(libraries, {}, {});
  ASSERT_EQ(checks.size(), 4);
  EXPECT_EQ(checks[0].id, "lib.nccl");
  EXPECT_EQ(checks[0].found, "2.21.5 (/usr/lib/libnccl.so.2)");
  EXPECT_EQ(checks[0].status, Status::Pass);
  EXPECT_EQ(checks[1].id, "lib.cuda");
  EXPECT_EQ(checks[1].status, Status::Info);
  EXPECT_EQ(checks[3].id, "build.features");
  EXPECT_EQ(checks[3].status, Status::Info);
}

TEST(Libraries, PeerMemoryMattersWithGpuAndRdma) {
  const auto peer = [](std::optional<bool> loaded) {
    return checks_of({}, loaded, {.gpus = true, .rdma = true}).at(3);
  };
  EXPECT_EQ(peer(true).id, "lib.peer-memory");
  EXPECT_EQ(peer(true).status, Status::Pass);
  EXPECT_EQ(peer(false).status, Status::Info);
  EXPECT_EQ(peer(std::nullopt).status, Status::Unknown);
  EXPECT_EQ(checks_of({}, true, {.gpus = true, .rdma = false}).size(), 4);
}

}  // namespace
}  // namespace chokepoint::probe
