// Calls that make no sense: each is counted, answered with 0, and changes nothing. NCCL itself
// stops some events twice, and others after their communicator is gone.
#include <gmock/gmock.h>

#include <array>
#include <bit>

#include "tests/capture/nccl/plugin/loaded.h"

namespace chokepoint::capture::nccl::test {
namespace {

namespace event = plugin::event;
using testing::IsEmpty;
using testing::SizeIs;

std::uint64_t refused(Loaded& loaded) { return loaded.file()->header.refused.load(); }

void* pointer(std::uint64_t bits) { return std::bit_cast<void*>(bits); }

constexpr std::array<std::uint64_t, 11> kGarbage = {
    1,
    8,
    0xdeadbeef,
    0x00007fffffffe000,
    0xffffffffffffffff,
    0x8000000000000000,
    0xa500000000000000,
    0xa5ffffffffffffff,
    0xa500000012340000,
    0xa6ffffffffffffff,
    0xa600000000000001,
};

TEST(NcclPluginHostile, NullIsLetPass) {
  Loaded loaded;
  void* context = loaded.join();
  Descriptor descriptor = collective(1);
  void* handle = pointer(5);
  EXPECT_EQ(loaded.five().start(nullptr, &handle, &descriptor), 0);
  EXPECT_EQ(handle, nullptr);
  EXPECT_EQ(loaded.five().start(context, nullptr, &descriptor), 0);
  EXPECT_EQ(loaded.five().start(context, &handle, nullptr), 0);
  EXPECT_EQ(loaded.five().start(nullptr, nullptr, nullptr), 0);
  EXPECT_EQ(loaded.five().stop(nullptr), 0);
  EXPECT_EQ(loaded.five().record(nullptr, 8, nullptr), 0);
  EXPECT_EQ(loaded.five().finalize(nullptr), 0);
  EXPECT_EQ(loaded.five().init(nullptr, 1, nullptr, nullptr, 0, 0, 0, nullptr), 0);
  EXPECT_EQ(loaded.five().init(&handle, 1, nullptr, nullptr, 0, 0, 0, nullptr), 0);
  EXPECT_EQ(refused(loaded), 9U);
  EXPECT_THAT(loaded.records(Kind::Collective), IsEmpty());
}

TEST(NcclPluginHostile, AnythingBeforeInitIsLetPass) {
  Loaded loaded;
  Descriptor descriptor = collective(1);
  void* handle = pointer(5);
  EXPECT_EQ(loaded.five().start(pointer(0xa600000000040000), &handle, &descriptor), 0);
  EXPECT_EQ(handle, nullptr);
  EXPECT_EQ(loaded.five().stop(pointer(0xa500000000040000)), 0);
  EXPECT_EQ(loaded.five().record(pointer(0xa500000000040000), 8, nullptr), 0);
  EXPECT_EQ(loaded.five().finalize(pointer(0xa600000000040000)), 0);
  EXPECT_EQ(loaded.file(), nullptr);
}

TEST(NcclPluginHostile, ArgumentsMayBeMissing) {
  Loaded loaded;
  void* context = loaded.join();
  void* part = loaded.start(context, kernel(nullptr, 5));
  EXPECT_EQ(loaded.five().record(part, 22, nullptr), 0);
  loaded.stop(part);
  EXPECT_EQ(loaded.records(Kind::Kernel)[0][word::kGpuEnd], 0U);
  void* one = loaded.start(context, step(loaded.start(context, proxy(nullptr, 0, true))));
  EXPECT_EQ(loaded.five().record(one, 9, nullptr), 0);
  loaded.stop(one);
  EXPECT_EQ(refused(loaded), 0U);
}

TEST(NcclPluginHostile, AHandleEndsOnce) {
  Loaded loaded;
  void* context = loaded.join();
  void* part = loaded.start(context, proxy(nullptr, 0, true));
  loaded.stop(part);
  loaded.stop(part);
  loaded.state(part, State::SendWait);
  EXPECT_THAT(loaded.records(Kind::Proxy), SizeIs(1));
  EXPECT_EQ(refused(loaded), 2U);
}

TEST(NcclPluginHostile, WhatWasNeverGivenOutIsNobodys) {
  Loaded loaded;
  void* context = loaded.join();
  loaded.start(context, collective(1));
  for (const std::uint64_t bits : kGarbage) {
    loaded.stop(pointer(bits));
    loaded.state(pointer(bits), State::SendWait);
    loaded.leave(pointer(bits));
    EXPECT_EQ(loaded.start(pointer(bits), collective(2)), nullptr);
  }
  EXPECT_EQ(refused(loaded), 4 * kGarbage.size());
  EXPECT_NE(loaded.start(context, collective(2)), nullptr);
}

TEST(NcclPluginHostile, AParentThatIsNoneIsNoParent) {
  Loaded loaded;
  void* context = loaded.join();
  for (const std::uint64_t bits : kGarbage) {
    loaded.stop(loaded.start(context, proxy(pointer(bits), 0, true)));
    loaded.stop(loaded.start(context, kernel(pointer(bits), 1)));
    void* one = loaded.start(context, step(pointer(bits)));
    loaded.state(one, State::SendWait, 1);
    loaded.stop(one);
  }
  EXPECT_THAT(loaded.records(Kind::Proxy), SizeIs(kGarbage.size()));
  for (const Words& each : loaded.records()) {
    if (kind_of(each) == Kind::Proxy || kind_of(each) == Kind::Kernel) {
      EXPECT_EQ(each[word::kId], 0U);
    }
  }
}

TEST(NcclPluginHostile, AContextIsNoHandleAndTheOtherWayRound) {
  Loaded loaded;
  void* context = loaded.join();
  void* whole = loaded.start(context, collective(1));
  loaded.stop(context);
  loaded.leave(whole);
  EXPECT_EQ(loaded.start(whole, collective(2)), nullptr);
  EXPECT_EQ(refused(loaded), 3U);
}

TEST(NcclPluginHostile, NothingOutlivesItsCommunicator) {
  Loaded loaded;
  void* first = loaded.join(1);
  void* second = loaded.join(2);
  void* part = loaded.start(first, proxy(nullptr, 0, true));
  loaded.leave(first);
  loaded.stop(part);
  loaded.state(part, State::SendWait);
  EXPECT_EQ(loaded.start(first, collective(1)), nullptr);
  loaded.leave(first);
  EXPECT_EQ(refused(loaded), 4U);
  EXPECT_THAT(loaded.records(Kind::Proxy), IsEmpty());
  EXPECT_THAT(loaded.records(Kind::Left), SizeIs(1));
  EXPECT_NE(loaded.start(second, collective(1)), nullptr);
}

TEST(NcclPluginHostile, AParentInAnotherCommunicatorIsNone) {
  Loaded loaded;
  void* first = loaded.join(1);
  void* second = loaded.join(2);
  void* whole = loaded.start(first, collective(1));
  loaded.stop(loaded.start(second, kernel(whole, 1)));
  EXPECT_EQ(loaded.records(Kind::Kernel)[0][word::kId], 0U);
}

TEST(NcclPluginHostile, ACommunicatorsPlaceIsUsedAgainUnderAnotherHandle) {
  Loaded loaded;
  void* first = loaded.join(1);
  loaded.leave(first);
  void* second = loaded.join(2);
  EXPECT_NE(first, second);
  loaded.leave(first);
  EXPECT_EQ(refused(loaded), 1U);
  EXPECT_NE(loaded.start(second, collective(1)), nullptr);
}

TEST(NcclPluginHostile, MoreCommunicatorsThanThereIsRoomForAreNotSeen) {
  Loaded loaded;
  std::vector<void*> contexts;
  for (int each = 0; each < 600; ++each) {
    contexts.push_back(loaded.join(1));
  }
  EXPECT_EQ(contexts.back(), nullptr);
  EXPECT_NE(contexts[500], nullptr);
  loaded.leave(contexts[0]);
  EXPECT_NE(loaded.join(2), nullptr);
}

TEST(NcclPluginHostile, WhatNeverEndsTakesNoMoreThanItsTable) {
  Loaded loaded;
  void* context = loaded.join();
  std::size_t given = 0;
  for (int each = 0; each < 30'000; ++each) {
    given += loaded.start(context, proxy(nullptr, 0, true)) != nullptr ? 1 : 0;
  }
  EXPECT_EQ(given, 12'288U);
  EXPECT_EQ(loaded.file()->header.unkept.load(), 30'000U - given);
  loaded.leave(context);
  EXPECT_NE(loaded.start(loaded.join(), collective(1)), nullptr);
}

TEST(NcclPluginHostile, ProxiesThatWaitLeaveRoomForSteps) {
  Loaded loaded;
  void* context = loaded.join();
  void* part = nullptr;
  for (int each = 0; each < 10'000; ++each) {
    part = loaded.start(context, proxy(nullptr, 0, true));
  }
  for (int each = 0; each < 20'000; ++each) {
    void* one = loaded.start(context, step(part));
    ASSERT_NE(one, nullptr);
    loaded.state(one, State::SendWait, 1);
    loaded.stop(one);
  }
  loaded.stop(part);
  EXPECT_EQ(loaded.records(Kind::Proxy)[0][word::kSteps], 20'000U);
  EXPECT_EQ(loaded.file()->header.unkept.load(), 0U);
}

TEST(NcclPluginHostile, AStaleHandleIsNotThatOfItsPlacesNextUse) {
  Loaded loaded;
  void* context = loaded.join();
  void* old = loaded.start(context, proxy(nullptr, 0, true));
  loaded.stop(old);
  for (int each = 0; each < 13'000; ++each) {
    loaded.stop(loaded.start(context, collective(1)));
  }
  loaded.stop(old);
  EXPECT_EQ(refused(loaded), 1U);
}

TEST(NcclPluginHostile, AGraphsKernelsComeWithoutTheirCollective) {
  Loaded loaded;
  void* context = loaded.join();
  for (int each = 0; each < 3; ++each) {
    void* part = loaded.start(context, kernel(nullptr, 5));
    loaded.state(part, State::KernelStop, 6);
    loaded.stop(part);
  }
  EXPECT_THAT(loaded.records(Kind::Kernel), SizeIs(3));
  EXPECT_EQ(refused(loaded), 0U);
}

}  // namespace
}  // namespace chokepoint::capture::nccl::test
