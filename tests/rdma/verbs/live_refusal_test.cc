// What fails says why, and what to do.
#include <gmock/gmock.h>
#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/rdma/verbs/live_fixture.h"

namespace chokepoint::rdma::verbs {
namespace {

using testing::HasSubstr;

using LiveRefusal = LiveTest;
using KernelRefusal = KernelTest;

// While it lives, this process may lock so little memory, even as root.
class LittleLockedMemory {
 public:
  explicit LittleLockedMemory(rlim_t bytes) {
    getrlimit(RLIMIT_MEMLOCK, &limit_);
    const rlimit less{.rlim_cur = bytes, .rlim_max = limit_.rlim_max};
    setrlimit(RLIMIT_MEMLOCK, &less);
    syscall(SYS_capget, &header_, capabilities_.data());
    auto fewer = capabilities_;
    fewer[0].effective &= ~(1U << CAP_IPC_LOCK);
    syscall(SYS_capset, &header_, fewer.data());
  }
  LittleLockedMemory(const LittleLockedMemory&) = delete;
  LittleLockedMemory& operator=(const LittleLockedMemory&) = delete;
  ~LittleLockedMemory() {
    syscall(SYS_capset, &header_, capabilities_.data());
    setrlimit(RLIMIT_MEMLOCK, &limit_);
  }

 private:
  rlimit limit_{};
  __user_cap_header_struct header_{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> capabilities_{};
};

std::string failure_of(const Completion& completion) {
  EXPECT_NE(completion.status, 0);
  return describe(explain(completion, "peer"));
}

std::string refusal_of(Device& device, const EndpointOptions& options) {
  const auto opened = device.open_endpoint(options);
  return opened ? "opened" : describe(opened.error());
}

TEST_F(LiveRefusal, AWrongKeyIsTold) {
  Piece from = piece(64);
  Piece to = piece(64);
  const Ends ends = connected_ends();
  SendRequest request = to_remote(Operation::Write, from, to, 64);
  request.remote_key += 1;
  EXPECT_THAT(failure_of(complete(*ends.source, request)), HasSubstr("a wrong key"));
}

TEST_F(LiveRefusal, MemoryThatMayOnlyBeReadIsNotWritten) {
  Piece from = piece(64);
  Piece to = piece(64, {.read = true});
  const Ends ends = connected_ends();
  EXPECT_EQ(complete(*ends.source, to_remote(Operation::Read, from, to, 64)).status, 0);
  from.bytes.assign(64, std::byte{7});
  EXPECT_NE(complete(*ends.source, to_remote(Operation::Write, from, to, 64)).status, 0);
  EXPECT_EQ(to.bytes.front(), std::byte{0});
}

TEST_F(LiveRefusal, WhatIsOutsideOfThePeersMemoryIsTold) {
  Piece from = piece(64);
  Piece to = piece(64);
  const Ends ends = connected_ends();
  SendRequest request = to_remote(Operation::Read, from, to, 64);
  request.remote_address += 1;
  EXPECT_THAT(failure_of(complete(*ends.source, request)), HasSubstr("outside of its bounds"));
}

TEST_F(LiveRefusal, APeerThatIsNotReadyIsTold) {
  Piece from = piece(64);
  const Ends ends = connected_ends();
  const Completion done =
      complete(*ends.source, {.operation = Operation::Send, .local = from.local(64)});
  EXPECT_THAT(failure_of(done), HasSubstr("not ready to receive"));
}

TEST_F(LiveRefusal, APeerThatIsGoneIsTold) {
  Piece from = piece(64);
  Piece to = piece(64);
  Ends ends = connected_ends();
  ends.target.reset();
  const Completion done = complete(*ends.source, to_remote(Operation::Write, from, to, 64));
  EXPECT_THAT(failure_of(done), HasSubstr("the peer is gone, or packets are lost"));
}

TEST_F(LiveRefusal, AMessageLongerThanItsPlaceIsToldOnBothSides) {
  Piece from = piece(64);
  Piece to = piece(32);
  const Ends ends = connected_ends();
  const LocalMemory slot = to.local(32);
  ASSERT_TRUE(ends.target->lay_out_receives(0, std::span(&slot, 1)));
  ASSERT_EQ(ends.target->post_receives(0, 0, 1), 0);
  const Completion done =
      complete(*ends.source, {.operation = Operation::Send, .local = from.local(64)});
  EXPECT_THAT(failure_of(done), HasSubstr("message size"));
  EXPECT_THAT(failure_of(next_receive(*ends.target)), HasSubstr("message size"));
}

TEST_F(LiveRefusal, WhatIsLeftAfterAFailurePointsToIt) {
  Piece from = piece(64);
  Piece to = piece(64);
  const Ends ends = connected_ends();
  std::vector<SendRequest> ring(3, to_remote(Operation::Write, from, to, 64));
  ring[0].remote_key += 1;
  ASSERT_TRUE(ends.source->lay_out_sends(0, ring));
  ASSERT_EQ(ends.source->post_sends(0, 0, 3, true), 0);
  EXPECT_THAT(failure_of(next_send(*ends.source)), HasSubstr("a wrong key"));
  const Completion last = next_send(*ends.source);
  EXPECT_THAT(failure_of(last), HasSubstr("the first failure of this queue pair says why"));
}

TEST_F(KernelRefusal, AMemoryLockLimitThatIsTooLowIsTold) {
  std::vector<std::byte> memory(4 << 20);
  const LittleLockedMemory little(256 << 10);
  const auto region = device().register_memory(
      {.address = reinterpret_cast<std::uint64_t>(memory.data()), .bytes = memory.size()}, {},
      false);
  ASSERT_FALSE(region);
  EXPECT_EQ(region.error().kind, ErrorKind::Exhausted);
  EXPECT_THAT(describe(region.error()), HasSubstr("the memory lock limit is 256 KiB; ulimit -l"));
}

TEST_F(LiveRefusal, AGidIndexThatIsNotSetIsToldWithThoseThatAre) {
  EndpointOptions wanted = options();
  wanted.gid_index = 999;
  EXPECT_THAT(refusal_of(device(), wanted),
              HasSubstr("GID index 999 is empty or out of range; one of 0"));
}

TEST_F(LiveRefusal, APortThatIsNotThereIsTold) {
  EndpointOptions wanted = options();
  wanted.port = 9;
  EXPECT_THAT(refusal_of(device(), wanted), HasSubstr("no such port; it has 1"));
}

TEST_F(LiveRefusal, QueuesThatAreTooDeepAreToldWithBothNumbers) {
  EndpointOptions wanted = options();
  wanted.send_depth = device().limits().depth + 1;
  EXPECT_THAT(refusal_of(device(), wanted),
              HasSubstr(std::to_string(wanted.send_depth) + " requests of a queue are asked for"));
}

TEST_F(LiveRefusal, TooMuchInlineIsToldWithWhatTheDeviceTakes) {
  EndpointOptions wanted = options();
  wanted.inline_bytes = 1 << 20;
  const std::string told = refusal_of(device(), wanted);
  EXPECT_THAT(told, HasSubstr("1048576 bytes inline are asked for, the device takes "));
  const std::string_view before = "ask for ";
  wanted.inline_bytes = std::stoi(told.substr(told.find(before) + before.size()));
  EXPECT_EQ(refusal_of(device(), wanted), "opened");
  ++wanted.inline_bytes;
  EXPECT_NE(refusal_of(device(), wanted), "opened");
}

TEST_F(KernelRefusal, ADeviceThatIsNotThereIsToldWithThoseThatAre) {
  const auto opened = library_->open("mlx5_99");
  ASSERT_FALSE(opened);
  EXPECT_THAT(describe(opened.error()), HasSubstr("mlx5_99: no such RDMA device; this host has"));
}

TEST_F(LiveRefusal, APeerWithOtherQueuesIsNotConnected) {
  Ends ends = open_ends(options());
  EndpointAddress other = ends.target->address();
  other.queues.push_back(other.queues.front());
  EXPECT_FALSE(ends.source->connect(other, path()));
}

TEST_F(LiveRefusal, WhatATransportDoesNotCarryIsNotLaidOut) {
  Piece memory = piece(64);
  const Ends ends = connected_ends(Transport::Uc);
  const SendRequest request = to_remote(Operation::Read, memory, memory, 64);
  EXPECT_FALSE(ends.source->lay_out_sends(0, std::span(&request, 1)));
}

}  // namespace
}  // namespace chokepoint::rdma::verbs
