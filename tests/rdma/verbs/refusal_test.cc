#include "rdma/verbs/refusal.h"

#include <gmock/gmock.h>

#include <cerrno>

namespace chokepoint::rdma::verbs {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr DeviceLimits kLimits{.queue_pairs = 4, .depth = 1000, .completions = 3000};

std::string limits_refuse(const EndpointOptions& options) {
  const Result<> fits = within_limits(options, kLimits, "mlx5_0");
  return fits ? "fits" : describe(fits.error());
}

Port port_with(const std::vector<int>& indices, PortState state = PortState::Active) {
  Port port{.number = 1, .state = state, .ethernet = true};
  for (const int index : indices) {
    port.gids.push_back({.index = index});
  }
  return port;
}

TEST(Refusal, WhatFitsIsNotRefused) {
  EXPECT_EQ(limits_refuse({.queues = 3, .send_depth = 1000, .receive_depth = 1}), "fits");
}

TEST(Refusal, ALimitIsToldWithBothNumbers) {
  EXPECT_THAT(limits_refuse({.queues = 5}),
              HasSubstr("5 queue pairs are asked for, the device has 4 at most; ask for 4"));
  EXPECT_THAT(limits_refuse({.send_depth = 1001}), HasSubstr("1001 requests of a queue"));
  EXPECT_THAT(limits_refuse({.queues = 4, .receive_depth = 1000}), HasSubstr("4000 completions"));
}

TEST(Refusal, ALowMemoryLockLimitIsNamed) {
  const Error error = refused_resource(ENOMEM, "register memory", "rxe0", 8 << 20);
  EXPECT_EQ(error.kind, ErrorKind::Exhausted);
  EXPECT_THAT(error.reason, HasSubstr("the memory lock limit is 8192 KiB"));
  EXPECT_THAT(error.next_step, HasSubstr("ulimit -l unlimited"));
}

TEST(Refusal, WhoMayLockNothingIsToldSo) {
  EXPECT_THAT(describe(refused_resource(EPERM, "register memory", "rxe0", 0)),
              HasSubstr("the memory lock limit is 0 KiB"));
  EXPECT_THAT(describe(refused_resource(EPERM, "register memory", "rxe0", 8 << 20)),
              Not(HasSubstr("lock")));
}

TEST(Refusal, WithoutAMemoryLockLimitItIsNotToBlame) {
  const Error error = refused_resource(ENOMEM, "register memory", "rxe0", std::nullopt);
  EXPECT_THAT(describe(error), Not(HasSubstr("lock")));
}

TEST(Refusal, ADeviceThisUserMayNotOpenNamesItsFile) {
  const Error error = refused_to_open(EACCES, "mlx5_0", "uverbs0");
  EXPECT_EQ(error.kind, ErrorKind::Permission);
  EXPECT_THAT(describe(error), HasSubstr("/dev/infiniband/uverbs0 may not be opened"));
}

TEST(Refusal, AFileThatIsNotThereIsWhyIfItIsNot) {
  EXPECT_EQ(code_for_file("/dev/null", ENODEV), ENODEV);
  EXPECT_EQ(code_for_file("/dev/null/uverbs0", ENODEV), ENOTDIR);
  EXPECT_EQ(code_for_file("/dev/no-such-file", EIO), ENOENT);
}

TEST(Refusal, ADeviceWithoutAFileNamesTheModule) {
  EXPECT_THAT(describe(refused_to_open(ENOENT, "mlx5_0", "uverbs0")),
              HasSubstr("modprobe ib_uverbs"));
}

TEST(Refusal, AnUnreachablePeerPointsToTheGids) {
  EXPECT_THAT(describe(refused_path(ETIMEDOUT, "connect", "rxe0")), HasSubstr("choose GIDs"));
  EXPECT_THAT(describe(refused_path(EINVAL, "connect", "rxe0")), HasSubstr("choose GIDs"));
}

TEST(Refusal, APortThatIsDownIsTold) {
  const auto gid = usable_gid(port_with({0}, PortState::Down), 0, "mlx5_0");
  ASSERT_FALSE(gid);
  EXPECT_THAT(describe(gid.error()), HasSubstr("mlx5_0 port 1: the port is down; set"));
}

TEST(Refusal, AGidThatIsNotSetIsToldWithThoseThatAre) {
  EXPECT_EQ(usable_gid(port_with({0, 3}), 3, "mlx5_0")->index, 3);
  const auto gid = usable_gid(port_with({0, 3}), 2, "mlx5_0");
  ASSERT_FALSE(gid);
  EXPECT_THAT(describe(gid.error()),
              HasSubstr("GID index 2 is empty or out of range; one of 0, 3"));
  EXPECT_THAT(describe(usable_gid(port_with({}), 0, "mlx5_0").error()),
              HasSubstr("no index is set: give"));
}

}  // namespace
}  // namespace chokepoint::rdma::verbs
