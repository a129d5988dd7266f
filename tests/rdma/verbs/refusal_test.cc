#include "rdma/verbs/refusal.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "tests/fakes/golden.h"

namespace chokepoint::rdma::verbs {
namespace {

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

TEST(Refusal, PictureOfEachCause) {
  fakes::Sentences sentences;
  sentences.add("5 of 4 queue pairs", limits_refuse({.queues = 5}));
  sentences.add("a queue deeper than any", limits_refuse({.send_depth = 1001}));
  sentences.add("more completions than a queue holds",
                limits_refuse({.queues = 4, .receive_depth = 1000}));
  const auto of_memory = [](int code, std::optional<std::uint64_t> limit) {
    return describe(refused_resource(code, "register memory", "rxe0", limit));
  };
  sentences.add("no memory, 8 MiB may be locked", of_memory(ENOMEM, 8 << 20));
  sentences.add("no memory, all of it may be locked", of_memory(ENOMEM, std::nullopt));
  sentences.add("not allowed, nothing may be locked", of_memory(EPERM, 0));
  sentences.add("not allowed, 8 MiB may be locked", of_memory(EPERM, 8 << 20));
  sentences.add("a device that may not be opened",
                describe(refused_to_open(EACCES, "mlx5_0", "uverbs0")));
  sentences.add("a device without a file", describe(refused_to_open(ENOENT, "mlx5_0", "uverbs0")));
  sentences.add("a peer that does not answer",
                describe(refused_path(ETIMEDOUT, "connect", "rxe0")));
  sentences.add("a path that cannot be", describe(refused_path(EINVAL, "connect", "rxe0")));
  const auto of_gid = [](const Port& port, int index) {
    const auto gid = usable_gid(port, index, "mlx5_0");
    return gid ? "usable" : describe(gid.error());
  };
  sentences.add("a port that is down", of_gid(port_with({0}, PortState::Down), 0));
  sentences.add("a GID that is not set", of_gid(port_with({0, 3}), 2));
  sentences.add("no GID that is set", of_gid(port_with({}), 0));
  EXPECT_GOLDEN("sentences_rdma_refusals", sentences.text());
}

TEST(Refusal, IsOfTheKindOfItsCause) {
  EXPECT_EQ(refused_resource(ENOMEM, "register memory", "rxe0", 8 << 20).kind,
            ErrorKind::Exhausted);
  EXPECT_EQ(refused_to_open(EACCES, "mlx5_0", "uverbs0").kind, ErrorKind::Permission);
}

TEST(Refusal, AFileThatIsNotThereIsWhyIfItIsNot) {
  EXPECT_EQ(code_for_file("/dev/null", ENODEV), ENODEV);
  EXPECT_EQ(code_for_file("/dev/null/uverbs0", ENODEV), ENOTDIR);
  EXPECT_EQ(code_for_file("/dev/no-such-file", EIO), ENOENT);
}

TEST(Refusal, AGidThatIsSetIsNotRefused) {
  EXPECT_EQ(usable_gid(port_with({0, 3}), 3, "mlx5_0")->index, 3);
}

}  // namespace
}  // namespace chokepoint::rdma::verbs
