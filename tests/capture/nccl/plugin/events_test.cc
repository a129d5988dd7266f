// Which events NCCL is asked for, by its version and by the environment.
#include "capture/nccl/plugin/events.h"

#include <gmock/gmock.h>

#include "capture/nccl/plugin/interface.h"
#include "tests/capture/nccl/plugin/loaded.h"

namespace chokepoint::capture::nccl::test {
namespace {

namespace event = plugin::event;
using plugin::choose_events;
using Reason = Choice::Reason;

constexpr auto kCollectives = static_cast<int>(event::kCollective | event::kMessage);
constexpr auto kProxies = static_cast<int>(event::kProxy);
constexpr auto kSteps = static_cast<int>(event::kStep);
constexpr auto kKernels = static_cast<int>(event::kKernel);

void expect_choice(const Choice& choice, Reason reason, bool kernels) {
  EXPECT_EQ(choice.reason, reason) << choice.nccl_version;
  EXPECT_EQ(choice.kernels, kernels) << choice.nccl_version;
  EXPECT_TRUE(choice.proxies && choice.steps) << choice.nccl_version;
}

TEST(NcclPluginEvents, KernelsOnlyWhereTheirCostIsKnownToBeSmall) {
  for (const int version : {22703, 22809, 22907}) {
    expect_choice(choose_events(nullptr, version, 6), Reason::Cheap, true);
  }
  expect_choice(choose_events(nullptr, 23102, 7), Reason::Costly, false);
  for (const int version : {22605, 23003, 23203, 23206, 30000, 1}) {
    expect_choice(choose_events(nullptr, version, 6), Reason::Unknown, false);
  }
}

TEST(NcclPluginEvents, TheInterfaceStandsInForAVersionThatNobodyTells) {
  expect_choice(choose_events(nullptr, 0, 4), Reason::Cheap, true);
  expect_choice(choose_events(nullptr, 0, 5), Reason::Cheap, true);
  expect_choice(choose_events(nullptr, 0, 6), Reason::Unknown, false);
  expect_choice(choose_events(nullptr, 0, 7), Reason::Unknown, false);
}

TEST(NcclPluginEvents, TheEnvironmentOverrides) {
  expect_choice(choose_events("all", 23102, 7), Reason::Requested, true);
  expect_choice(choose_events("kernels,steps,proxies", 23102, 7), Reason::Requested, true);
  expect_choice(choose_events("proxies,steps", 22809, 5), Reason::Requested, false);
  const Choice none = choose_events("none", 22809, 5);
  EXPECT_EQ(none.reason, Reason::Requested);
  EXPECT_EQ(plugin::always_of(none), static_cast<std::uint64_t>(kCollectives));
  EXPECT_EQ(plugin::in_windows_of(none), 0U);
}

TEST(NcclPluginEvents, WhatNobodyCanReadCountsAsNotSet) {
  for (const char* text : {"", ",", "kernel", "kernels,", "all,steps", "ALL", "steps proxies"}) {
    expect_choice(choose_events(text, 23102, 7), Reason::Costly, false);
  }
}

TEST(NcclPluginEvents, AChoiceIsTheSameAfterItWasAWord) {
  const Choice choice = choose_events("steps", 23206, 7);
  EXPECT_EQ(Choice::of(choice.word()).word(), choice.word());
  EXPECT_EQ(Choice::of(choice.word()).nccl_version, 23206U);
  EXPECT_EQ(Choice::of(std::uint64_t{200} << 32).reason, Reason::Undecided);
}

// The mask that NCCL gets by each interface while a window is open.
int mask_by(const plugin::Table5& table) {
  void* context = nullptr;
  int mask = 0;
  table.init(&context, 7, &mask, "name", 1, 2, 1, nullptr);
  return mask;
}

TEST(NcclPluginEvents, MasksFollow) {
  constexpr int kAllButKernels = kCollectives | kProxies | kSteps;
  EXPECT_EQ(mask_by(Loaded().five()), kAllButKernels | kKernels);
  EXPECT_EQ(mask_by(Loaded().six()), kAllButKernels);
  EXPECT_EQ(mask_by(Loaded().seven()), kAllButKernels);
  EXPECT_EQ(mask_by(Loaded({.events = "all"}).seven()), kAllButKernels | kKernels);
  EXPECT_EQ(mask_by(Loaded({.events = "none"}).five()), kCollectives);
  EXPECT_EQ(mask_by(Loaded({.window = "0", .events = "proxies,kernels"}).five()),
            kCollectives | kProxies);
}

TEST(NcclPluginEvents, AWindowWithoutKernelsSaysSo) {
  Loaded loaded({.events = "steps"});
  loaded.join();
  const auto records = loaded.records(Kind::Window);
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records[0][word::kKernels], 0U);
  EXPECT_EQ(Choice::of(loaded.file()->header.events.load()).reason, Reason::Requested);
}

// A descriptor of version 6 ends before the tag.
TEST(NcclPluginEvents, TagsAreKeptByVersion7Alone) {
  Descriptor tagged = collective(1);
  tagged.collective.tag = 17;
  Descriptor message_too = message("Send", 0);
  message_too.message.tag = 18;
  for (const bool is_7 : {false, true}) {
    Loaded loaded;
    const plugin::Table5& table = is_7 ? loaded.seven() : loaded.six();
    void* context = nullptr;
    int mask = 0;
    table.init(&context, 7, &mask, "name", 1, 2, 1, nullptr);
    for (Descriptor* each : {&tagged, &message_too}) {
      void* handle = nullptr;
      table.start(context, &handle, each);
      table.stop(handle);
    }
    EXPECT_EQ(loaded.records(Kind::Collective).at(0)[word::kTag], is_7 ? 17U : 0U);
    EXPECT_EQ(loaded.records(Kind::Message).at(0)[word::kTag], is_7 ? 18U : 0U);
  }
}

}  // namespace
}  // namespace chokepoint::capture::nccl::test
