// A job's own profiler behind this one: it receives the calls that it would receive alone, with its
// own handles.
#include <dlfcn.h>
#include <gmock/gmock.h>

#include <cstdarg>
#include <cstdio>

#include "tests/capture/nccl/plugin/loaded.h"
#include "tests/capture/nccl/plugin/next_profiler.h"

namespace chokepoint::capture::nccl::test {
namespace {

namespace event = plugin::event;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// The next profiler is opened before the plugin does, so that both see the same one.
class NcclPluginNext : public testing::Test {
 protected:
  NcclPluginNext() {
    *control_ = {};
    control_->mask = static_cast<int>(event::kCollective);
  }

  std::vector<std::string> received() const {
    std::vector<std::string> names;
    for (const ReceivedCall& each : control_->received) {
      names.push_back(each.what);
    }
    return names;
  }
  const ReceivedCall& last() const { return control_->received.back(); }

  void* library_ = dlopen(CHOKEPOINT_NEXT, RTLD_NOW | RTLD_LOCAL);
  NextControl* control_ = reinterpret_cast<NextControl* (*)()>(dlsym(library_, kNextControl))();
  Settings settings_ = {.window = "0", .next = CHOKEPOINT_NEXT};
};

TEST_F(NcclPluginNext, ItsLifeGoesAlong) {
  Loaded loaded(settings_);
  void* context = loaded.join(77);
  EXPECT_EQ(last().number, 77U);
  const void* its = last().context;
  void* whole = loaded.start(context, collective(5));
  EXPECT_EQ(last().context, its);
  EXPECT_EQ(last().sequence, 5U);
  const void* its_event = last().handle;
  EXPECT_NE(its_event, whole);
  loaded.stop(whole);
  EXPECT_EQ(last().handle, its_event);
  loaded.leave(context);
  EXPECT_EQ(last().context, its);
  EXPECT_THAT(received(), ElementsAre("init", "start", "stop", "finalize"));
  EXPECT_THAT(loaded.records(Kind::Collective), SizeIs(1));
}

TEST_F(NcclPluginNext, BothMasksCount) {
  control_->mask = static_cast<int>(event::kNetwork | event::kCopySync);
  Loaded loaded(settings_);
  loaded.join();
  EXPECT_EQ(loaded.mask(), static_cast<int>(event::kCollective | event::kMessage | event::kProxy |
                                            event::kNetwork));
}

TEST_F(NcclPluginNext, WhatItDidNotAskForItIsNotTold) {
  Loaded loaded(settings_);
  void* context = loaded.join();
  loaded.stop(loaded.start(context, message("Send", 0)));
  loaded.stop(loaded.start(context, proxy(nullptr, 0, true)));
  EXPECT_EQ(loaded.start(context, other(event::kControl)), nullptr);
  EXPECT_THAT(received(), ElementsAre("init"));
}

TEST_F(NcclPluginNext, WhatOnlyItAskedForGoesThrough) {
  control_->mask = static_cast<int>(event::kControl);
  Loaded loaded(settings_);
  void* context = loaded.join();
  const std::size_t before = loaded.records().size();
  void* handle = loaded.start(context, other(event::kControl));
  ASSERT_NE(handle, nullptr);
  loaded.state(handle, static_cast<State>(13), 4);
  loaded.stop(handle);
  EXPECT_THAT(received(), ElementsAre("init", "start", "state", "stop"));
  EXPECT_THAT(loaded.records(), SizeIs(before));
}

TEST_F(NcclPluginNext, ParentsAreItsOwn) {
  control_->mask = static_cast<int>(event::kProxy);
  Loaded loaded(settings_);
  void* context = loaded.join();
  void* group = loaded.start(context, other(event::kGroup));
  const void* its_group = last().handle;
  void* call = loaded.start(context, other(event::kCollectiveCall));
  const void* its_call = last().handle;
  Descriptor descriptor = collective(1);
  descriptor.parent = call;
  descriptor.collective.group = group;
  void* whole = loaded.start(context, descriptor);
  EXPECT_EQ(last().parent, its_call);
  EXPECT_EQ(last().group, its_group);
  const void* its_whole = last().handle;
  loaded.stop(whole);
  loaded.start(context, proxy(whole, 0, true));
  EXPECT_EQ(last().parent, its_whole);
}

TEST_F(NcclPluginNext, AParentThatIsNotItsOwnIsNone) {
  control_->mask = static_cast<int>(event::kProxy);
  Loaded loaded(settings_);
  void* first = loaded.join(1);
  void* second = loaded.join(2);
  void* whole = loaded.start(first, collective(1));
  loaded.start(second, proxy(whole, 0, true));
  EXPECT_EQ(last().parent, nullptr);
  loaded.start(first, proxy(control_, 0, true));
  EXPECT_EQ(last().parent, nullptr);
}

TEST_F(NcclPluginNext, NonsenseStopsHere) {
  Loaded loaded(settings_);
  void* context = loaded.join();
  void* whole = loaded.start(context, collective(1));
  loaded.stop(whole);
  const std::size_t before = control_->received.size();
  loaded.stop(whole);
  loaded.state(whole, State::SendWait);
  loaded.stop(control_);
  loaded.leave(control_);
  void* open = loaded.start(context, collective(1));
  loaded.leave(context);
  loaded.leave(context);
  loaded.stop(open);
  EXPECT_THAT(control_->received, SizeIs(before + 2));
  EXPECT_EQ(last().what, "finalize");
}

TEST_F(NcclPluginNext, WhatItChangesInItsWordIsSeenWithinASecond) {
  Loaded loaded(settings_);
  void* context = loaded.join();
  *control_->mask_word = static_cast<int>(event::kNetwork);
  const int before = loaded.mask();
  while (loaded.mask() == before) {
    loaded.stop(loaded.start(context, collective(1)));
  }
  EXPECT_NE(loaded.mask() & static_cast<int>(event::kNetwork), 0);
}

TEST_F(NcclPluginNext, OneThatFailsHasNoPartInTheCommunicator) {
  control_->answer = 1;
  Loaded loaded(settings_);
  void* context = loaded.join();
  loaded.stop(loaded.start(context, collective(1)));
  loaded.leave(context);
  EXPECT_THAT(received(), ElementsAre("init"));
  EXPECT_THAT(loaded.records(Kind::Collective), SizeIs(1));
}

// As one does that finds no GPU: NCCL 2.27 alone would call its finalize.
TEST_F(NcclPluginNext, OneWithoutAContextIsNotFinalised) {
  control_->has_context = false;
  Loaded loaded(settings_);
  loaded.leave(loaded.join());
  EXPECT_THAT(received(), ElementsAre("init"));
}

TEST_F(NcclPluginNext, ItWorksWithoutUs) {
  settings_.has_folder = false;
  Loaded loaded(settings_);
  void* context = loaded.join();
  ASSERT_NE(context, nullptr);
  EXPECT_EQ(loaded.mask(), static_cast<int>(event::kCollective));
  loaded.stop(loaded.start(context, collective(1)));
  loaded.leave(context);
  EXPECT_THAT(received(), ElementsAre("init", "start", "stop", "finalize"));
}

TEST_F(NcclPluginNext, VersionSixFindsVersionFive) {
  Loaded loaded(settings_);
  void* context = nullptr;
  loaded.six().init(&context, 1, &loaded.mask(), nullptr, 1, 1, 0, nullptr);
  loaded.stop(loaded.start(context, collective(1)));
  EXPECT_EQ(loaded.start(context, other(event::kCopyCollective)), nullptr);
  EXPECT_THAT(received(), ElementsAre("init", "start", "stop"));
}

TEST_F(NcclPluginNext, VersionSevenFindsVersionFiveAndKeepsTheNewKindsFromIt) {
  control_->mask = static_cast<int>(event::kCollective | event::kKernelPhase);
  Loaded loaded(settings_);
  void* context = nullptr;
  int mask = 0;
  loaded.seven().init(&context, 7, &mask, "name", 1, 2, 1, nullptr);
  EXPECT_EQ(mask & static_cast<int>(event::kKernelPhase), 0);
  Descriptor phase = other(event::kKernelPhase);
  void* handle = nullptr;
  loaded.seven().start(context, &handle, &phase);
  EXPECT_EQ(handle, nullptr);
  Descriptor whole = collective(5);
  loaded.seven().start(context, &handle, &whole);
  EXPECT_EQ(last().sequence, 5U);
}

TEST_F(NcclPluginNext, VersionSevenTellsVersionSevenAll) {
  void* library = dlopen(CHOKEPOINT_NEXT_ONLY_7, RTLD_NOW | RTLD_LOCAL);
  NextControl& control = *reinterpret_cast<NextControl* (*)()>(dlsym(library, kNextControl))();
  control = {};
  control.mask = static_cast<int>(event::kKernelPhase);
  Loaded loaded({.window = "0", .next = CHOKEPOINT_NEXT_ONLY_7});
  void* context = nullptr;
  int mask = 0;
  loaded.seven().init(&context, 7, &mask, "name", 1, 2, 1, nullptr);
  EXPECT_NE(mask & static_cast<int>(event::kKernelPhase), 0);
  // A phase is part of a kernel, which is part of a collective.
  for (Descriptor each : {collective(1), kernel(nullptr, 3), other(event::kKernelPhase)}) {
    each.type == event::kCollective ? void(each.collective.tag = 17) : void();
    void* handle = nullptr;
    loaded.seven().start(context, &handle, &each);
    EXPECT_NE(handle, nullptr);
    EXPECT_EQ(control.received.back().number, each.type);
  }
  EXPECT_EQ(control.received.at(1).tag, 17U);
}

TEST_F(NcclPluginNext, VersionFourTellsVersionFour) {
  Loaded loaded(settings_);
  void* context = nullptr;
  loaded.four().init(&context, &loaded.mask(), nullptr, 9, 1, 1, 0, nullptr);
  EXPECT_EQ(last().number, 9U);
  loaded.stop(loaded.start(context, collective(1)));
  EXPECT_THAT(received(), ElementsAre("init", "start", "stop"));
}

std::string& logged() {
  static std::string text;
  return text;
}

__attribute__((format(printf, 5, 6))) void log(plugin::LogLevel /*level*/, unsigned long /*part*/,
                                               const char* /*file*/, int /*line*/,
                                               const char* format, ...) {
  std::array<char, 512> text = {};
  std::va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text.data(), text.size(), format, arguments);
  va_end(arguments);
  logged() += std::string(text.data()) + "\n";
}

std::string log_of(const std::optional<std::string>& next) {
  logged().clear();
  Loaded loaded({.next = next});
  for (int each = 0; each < 2; ++each) {
    void* context = nullptr;
    loaded.five().init(&context, 1, &loaded.mask(), nullptr, 1, 1, 0, log);
    EXPECT_NE(context, nullptr);
    loaded.stop(loaded.start(context, collective(1)));
    loaded.leave(context);
  }
  return logged();
}

TEST_F(NcclPluginNext, OneThatIsNotThereIsSaidOnce) {
  for (const char* each : {"/nonexistent.so", "nonexistent", "/etc/passwd", "libm.so.6"}) {
    const std::string said = log_of(each);
    EXPECT_THAT(said, HasSubstr("no ncclProfiler_v5")) << each;
    EXPECT_EQ(std::ranges::count(said, '\n'), 1) << each;
  }
}

TEST_F(NcclPluginNext, OneOfAnotherVersionIsNotFaked) {
  EXPECT_THAT(log_of("/nonexistent.so"), HasSubstr("(/nonexistent.so: cannot open"));
  EXPECT_THAT(log_of(CHOKEPOINT_NEXT_ONLY_4), HasSubstr("no ncclProfiler_v5"));
}

TEST_F(NcclPluginNext, NoneIsNone) {
  EXPECT_THAT(log_of("none"), IsEmpty());
  EXPECT_THAT(log_of(""), IsEmpty());
  EXPECT_THAT(log_of(std::nullopt), IsEmpty());
}

TEST_F(NcclPluginNext, ItIsFoundByItsNameAlone) {
  EXPECT_THAT(log_of("made-up"), IsEmpty());
  EXPECT_THAT(log_of("libnccl-profiler-made-up.so"), IsEmpty());
}

// A job whose variables were passed on to another job under watch.
TEST_F(NcclPluginNext, ThePluginItselfIsNotTheNext) {
  Loaded outer({.next = "none"});
  const std::string own = outer.folder().parent_path() / "plugin.so";
  setenv(kNextVariable, own.c_str(), 1);
  void* context = outer.join();
  EXPECT_NE(context, nullptr);
  outer.stop(outer.start(context, collective(1)));
  outer.leave(context);
  EXPECT_THAT(outer.records(Kind::Collective), SizeIs(1));
}

}  // namespace
}  // namespace chokepoint::capture::nccl::test
