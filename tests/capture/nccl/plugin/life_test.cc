// What an ordinary job leaves behind.
#include <gmock/gmock.h>
#include <unistd.h>

#include <cstring>
#include <thread>

#include "tests/capture/nccl/plugin/loaded.h"

namespace chokepoint::capture::nccl::test {
namespace {

namespace event = plugin::event;
using testing::Each;
using testing::SizeIs;

TEST(NcclPlugin, ACommunicatorIsIntroduced) {
  Loaded loaded;
  void* context = loaded.join(0x1234);
  ASSERT_NE(context, nullptr);
  ASSERT_NE(loaded.file(), nullptr);
  EXPECT_EQ(loaded.file()->header.magic.load(), kMagic);
  EXPECT_EQ(loaded.file()->header.version.load(), kLayoutVersion);
  EXPECT_EQ(loaded.file()->header.process.load(), static_cast<std::uint64_t>(getpid()));
  EXPECT_EQ(loaded.file()->header.table.load(), 5U);
  const auto records = loaded.records(Kind::Communicator);
  ASSERT_THAT(records, SizeIs(1));
  EXPECT_EQ(records[0][0] >> 8, 1U);
  EXPECT_EQ(records[0][word::kHash], 0x1234U);
  EXPECT_EQ(records[0][word::kRank], 1U);
  EXPECT_EQ(records[0][word::kRanks], 2U);
  EXPECT_EQ(records[0][word::kNodes], 1U);
  EXPECT_STREQ(reinterpret_cast<const char*>(&records[0][word::kName]), "name");
}

TEST(NcclPlugin, ItsLeavingIsToldAndTheLastOneIsTheEnd) {
  Loaded loaded;
  void* first = loaded.join(1);
  void* second = loaded.join(2);
  loaded.leave(first);
  EXPECT_EQ(loaded.file()->header.stopped.load(), 0U);
  loaded.leave(second);
  EXPECT_EQ(loaded.file()->header.stopped.load(), 1U);
  EXPECT_THAT(loaded.records(Kind::Left), SizeIs(2));
  loaded.join(3);
  EXPECT_EQ(loaded.file()->header.stopped.load(), 0U);
  EXPECT_EQ(loaded.records(Kind::Communicator)[2][0] >> 8, 3U);
}

TEST(NcclPlugin, ACollectiveIsTold) {
  Loaded loaded;
  void* context = loaded.join();
  void* handle = loaded.start(context, collective(41));
  loaded.stop(handle);
  const auto records = loaded.records(Kind::Collective);
  ASSERT_THAT(records, SizeIs(1));
  const Words& record = records[0];
  EXPECT_NE(record[word::kId], 0U);
  EXPECT_EQ(record[word::kSequence], 41U);
  EXPECT_EQ(record[word::kFunction], static_cast<std::uint64_t>(Function::AllReduce));
  EXPECT_EQ(record[word::kBytes], 2'000U);
  EXPECT_EQ(record[word::kChannels], 2U);
  EXPECT_EQ(record[word::kAlgorithm], static_cast<std::uint64_t>(Algorithm::Ring));
  EXPECT_EQ(record[word::kProtocol], static_cast<std::uint64_t>(Protocol::Simple));
  EXPECT_EQ(record[word::kPeer], kNone);
  EXPECT_EQ(record[word::kDatatype], 9U);
  EXPECT_NE(record[word::kEnqueued], 0U);
}

TEST(NcclPlugin, ARootIsToldWhereThereIsOne) {
  Loaded loaded;
  void* context = loaded.join();
  loaded.start(context, collective(1, "Broadcast"));
  EXPECT_EQ(loaded.records(Kind::Collective)[0][word::kPeer], 0U);
}

TEST(NcclPlugin, WhatIsNotKnownStaysUnknown) {
  Loaded loaded;
  void* context = loaded.join();
  Descriptor strange = collective(1, "Teleport");
  strange.collective.datatype = nullptr;
  strange.collective.algorithm = "";
  strange.collective.protocol = nullptr;
  loaded.start(context, strange);
  const Words record = loaded.records(Kind::Collective)[0];
  EXPECT_EQ(record[word::kFunction], 0U);
  EXPECT_EQ(record[word::kBytes], 0U);
  EXPECT_EQ(record[word::kAlgorithm], 0U);
  EXPECT_EQ(record[word::kProtocol], 0U);
  EXPECT_EQ(record[word::kDatatype], kNone);
}

TEST(NcclPlugin, MessagesAreCountedEachWay) {
  Loaded loaded;
  void* context = loaded.join();
  for (const char* each : {"Send", "Send", "Recv"}) {
    loaded.stop(loaded.start(context, message(each, 0)));
  }
  const auto records = loaded.records(Kind::Message);
  ASSERT_THAT(records, SizeIs(3));
  EXPECT_EQ(records[1][word::kSequence], 1U);
  EXPECT_EQ(records[2][word::kSequence], 0U);
  EXPECT_EQ(records[2][word::kFunction], static_cast<std::uint64_t>(Function::Receive));
  EXPECT_EQ(records[2][word::kPeer], 0U);
  EXPECT_EQ(records[2][word::kBytes], 40U);
}

TEST(NcclPlugin, AChannelsWaitsAreSummedUp) {
  Loaded loaded;
  void* context = loaded.join();
  void* whole = loaded.start(context, collective(1));
  loaded.stop(whole);
  void* sends = loaded.start(context, proxy(whole, 3, true));
  for (int each = 0; each < 2; ++each) {
    void* one = loaded.start(context, step(sends));
    loaded.state(one, State::SendGpuWait, 999);
    usleep(2'000);
    loaded.state(one, State::SendPeerWait, 999);
    usleep(2'000);
    loaded.state(one, State::SendPeerWait, 999);
    loaded.state(one, State::SendWait, 500);
    usleep(2'000);
    loaded.stop(one);
  }
  loaded.stop(sends);
  const auto records = loaded.records(Kind::Proxy);
  ASSERT_THAT(records, SizeIs(1));
  const Words& record = records[0];
  EXPECT_EQ(record[word::kId], loaded.records(Kind::Collective)[0][word::kId]);
  EXPECT_EQ(record[word::kChannel], 3 | std::uint64_t{1} << 32);
  EXPECT_EQ(record[word::kProxyPeer], 0U);
  for (const std::size_t each : {word::kGpuNs, word::kPeerNs, word::kNetworkNs}) {
    EXPECT_GE(record[each], 4'000'000U) << each;
    EXPECT_LE(record[each], record[word::kProxyEnd] - record[word::kProxyBegin]);
  }
  EXPECT_EQ(record[word::kFlushNs], 0U);
  EXPECT_EQ(record[word::kTransferred], 1'000U);
  EXPECT_EQ(record[word::kSteps], 2U);
  EXPECT_GE(record[word::kFirstData], record[word::kProxyBegin] + 2'000'000U);
  EXPECT_EQ(record[word::kFirstTaken], 0U);
}

TEST(NcclPlugin, AReceiversWaitsToo) {
  Loaded loaded;
  void* context = loaded.join();
  void* receives = loaded.start(context, proxy(nullptr, 0, false));
  void* one = loaded.start(context, step(receives));
  loaded.state(one, State::ReceiveWait);
  usleep(1'000);
  loaded.state(one, State::ReceiveFlushWait, 700);
  usleep(1'000);
  loaded.state(one, State::ReceiveGpuWait, 800);
  usleep(1'000);
  loaded.stop(one);
  loaded.stop(receives);
  const Words record = loaded.records(Kind::Proxy)[0];
  EXPECT_EQ(record[word::kId], 0U);
  EXPECT_EQ(record[word::kChannel], 0U);
  for (const std::size_t each : {word::kNetworkNs, word::kFlushNs, word::kGpuNs}) {
    EXPECT_GE(record[each], 1'000'000U) << each;
  }
  EXPECT_EQ(record[word::kPeerNs], 0U);
  EXPECT_EQ(record[word::kTransferred], 700U);
  EXPECT_NE(record[word::kFirstData], 0U);
  EXPECT_GE(record[word::kFirstTaken], record[word::kFirstData] + 2'000'000U);
}

TEST(NcclPlugin, AProxyWithoutStepsTellsOfNoWaits) {
  Loaded loaded;
  void* context = loaded.join();
  loaded.stop(loaded.start(context, proxy(nullptr, 0, true)));
  EXPECT_EQ(loaded.records(Kind::Proxy)[0][word::kSteps], 0U);
  EXPECT_EQ(loaded.records(Kind::Proxy)[0][word::kFirstData], 0U);
}

TEST(NcclPlugin, AProxyBeginsWhenItsTurnComes) {
  Loaded loaded;
  void* context = loaded.join();
  void* part = loaded.start(context, proxy(nullptr, 0, true));
  loaded.start(context, collective(1));
  const Words whole = loaded.records(Kind::Collective)[0];
  loaded.state(part, State::ProxyInProgress);
  loaded.stop(part);
  const Words record = loaded.records(Kind::Proxy)[0];
  EXPECT_GE(record[word::kProxyBegin], whole[word::kEnqueued]);
  EXPECT_LE(record[word::kProxyBegin], record[word::kProxyEnd]);
}

TEST(NcclPlugin, AProxyForAnotherProcessHasNoParentHere) {
  Loaded loaded;
  void* context = loaded.join();
  void* whole = loaded.start(context, collective(1));
  Descriptor strange = proxy(whole, 0, true);
  strange.proxy.process = getpid() + 1;
  loaded.stop(loaded.start(context, strange));
  EXPECT_EQ(loaded.records(Kind::Proxy)[0][word::kId], 0U);
  EXPECT_EQ(loaded.file()->header.refused.load(), 0U);
}

TEST(NcclPlugin, AKernelIsToldByBothClocks) {
  Loaded loaded;
  void* context = loaded.join();
  void* whole = loaded.start(context, collective(1));
  loaded.stop(whole);
  void* part = loaded.start(context, kernel(whole, 5'000));
  loaded.state(part, State::KernelStop, 9'000);
  loaded.stop(part);
  const Words record = loaded.records(Kind::Kernel)[0];
  EXPECT_EQ(record[word::kId], loaded.records(Kind::Collective)[0][word::kId]);
  EXPECT_EQ(record[word::kChannel], 1U);
  EXPECT_EQ(record[word::kGpuBegin], 5'000U);
  EXPECT_EQ(record[word::kGpuEnd], 9'000U);
  EXPECT_LE(record[word::kSeenBegin], record[word::kSeenEnd]);
}

TEST(NcclPlugin, WhatNobodyAskedForHasNoHandle) {
  Loaded loaded;
  void* context = loaded.join();
  for (const std::uint64_t type :
       {event::kGroup, event::kControl, event::kNetwork, event::kGroupCall, event::kCollectiveCall,
        event::kMessageCall, event::kLaunch, event::kCopyCollective, std::uint64_t{1} << 40,
        std::uint64_t{0}, std::uint64_t{6}}) {
    EXPECT_EQ(loaded.start(context, other(type)), nullptr) << type;
  }
  EXPECT_EQ(loaded.file()->header.refused.load(), 0U);
}

TEST(NcclPlugin, InVersionFourTheTypeIsAByteWide) {
  Loaded loaded;
  void* context = nullptr;
  int mask = 0;
  EXPECT_EQ(loaded.four().init(&context, &mask, nullptr, 77, 1, 2, 0, nullptr), 0);
  EXPECT_EQ(loaded.file()->header.table.load(), 4U);
  EXPECT_EQ(loaded.records(Kind::Communicator)[0][word::kHash], 77U);
  Descriptor descriptor = collective(5);
  descriptor.type |= 0xabcdef00;
  void* handle = nullptr;
  EXPECT_EQ(loaded.four().start(context, &handle, &descriptor), 0);
  EXPECT_NE(handle, nullptr);
  EXPECT_THAT(loaded.records(Kind::Collective), SizeIs(1));
}

TEST(NcclPlugin, VersionSixIsAsVersionFive) {
  Loaded loaded;
  void* context = nullptr;
  int mask = 0;
  EXPECT_EQ(loaded.six().init(&context, 77, &mask, "six", 1, 2, 0, nullptr), 0);
  EXPECT_EQ(loaded.file()->header.table.load(), 6U);
  Descriptor descriptor = collective(5);
  void* handle = nullptr;
  EXPECT_EQ(loaded.six().start(context, &handle, &descriptor), 0);
  EXPECT_EQ(loaded.six().stop(handle), 0);
  EXPECT_EQ(loaded.six().finalize(context), 0);
  EXPECT_THAT(loaded.records(), SizeIs(4));
}

TEST(NcclPlugin, ALongNameIsCut) {
  Loaded loaded;
  void* context = nullptr;
  const std::string name(100, 'x');
  loaded.five().init(&context, 1, &loaded.mask(), name.c_str(), 1, 1, 0, nullptr);
  const Words record = loaded.records(Kind::Communicator)[0];
  EXPECT_EQ(std::memcmp(&record[word::kName], name.data(), 32), 0);
  EXPECT_EQ(record[word::kName + 4], 0U);
}

TEST(NcclPlugin, NoTwoCollectivesHaveOneId) {
  Loaded loaded;
  void* context = loaded.join();
  std::vector<std::uint64_t> ids;
  for (std::uint64_t each = 0; each < 3 * kSlots; ++each) {
    loaded.stop(loaded.start(context, collective(each)));
  }
  for (const Words& each : loaded.records(Kind::Collective)) {
    ids.push_back(each[word::kId]);
  }
  EXPECT_THAT(ids, SizeIs(testing::Ge(kSlots - 2)));
  EXPECT_THAT(ids, Each(testing::Ne(0U)));
  std::ranges::sort(ids);
  EXPECT_EQ(std::ranges::adjacent_find(ids), ids.end());
}

}  // namespace
}  // namespace chokepoint::capture::nccl::test
