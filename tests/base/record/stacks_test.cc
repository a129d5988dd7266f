#include "base/record/stacks.h"

#include <gtest/gtest.h>

namespace chokepoint::record {
namespace {

StackThread python(const std::vector<StackFrame>& frames) {
  return {
      .id = 17, .name = "MainThread", .state = "S", .waits_in = "futex_do_wait", .frames = frames};
}

TEST(Stacks, ReadAsTheyWereWritten) {
  const Stacks stacks{.rank = 3,
                      .pid = 17,
                      .source = StackSource::PySpy,
                      .idle_threads = 40,
                      .threads = {python({{"load \"x\"", "/a/train.py", 41}})}};
  const auto read = stacks_in(text_of(stacks));
  ASSERT_TRUE(read);
  EXPECT_EQ(text_of(*read), text_of(stacks));
  EXPECT_EQ(read->threads.at(0).frames.at(0).function, "load \"x\"");
}

TEST(Stacks, OfWhatIsNoSuchDetailAreNone) {
  const std::string good = text_of(Stacks{});
  for (const std::string& text : {std::string(), std::string("[]"), good.substr(0, good.size() / 2),
                                  std::string(std::size_t{2} << 20, '{')}) {
    EXPECT_FALSE(stacks_in(text)) << text.substr(0, 60);
  }
}

// The first thread stays.
TEST(Stacks, AreAsLongAsARecordTakes) {
  Stacks stacks{.pid = 17};
  const std::string bytes(190, '\xff');
  stacks.threads.resize(16, python(std::vector<StackFrame>(48, {bytes, bytes, 1})));
  const std::string text = text_of(stacks);
  EXPECT_LE(text.size(), kMaxStacksBytes);
  ASSERT_TRUE(stacks_in(text));
  ASSERT_FALSE(stacks_in(text)->threads.empty());
  EXPECT_FALSE(stacks_in(text)->threads.front().frames.empty());
}

std::string place_by(const std::vector<StackFrame>& frames) {
  return place_of({.pid = 17, .threads = {python(frames)}});
}

TEST(PlaceOf, IsTheInnermostFrameOfTheProgram) {
  EXPECT_EQ(place_by({{"wait", "/usr/lib/python3.11/threading.py", 320},
                      {"synchronize", "/venv/lib/python3.12/site-packages/torch/cuda.py", 9},
                      {"all_reduce", "/src/pytorch/torch/distributed/distributed_c10d.py", 2},
                      {"_find", "<frozen importlib._bootstrap>", 5},
                      {"load_batch", "/home/u/train.py", 41},
                      {"main", "/home/u/train.py", 90}}),
            "load_batch (train.py:41)");
}

TEST(PlaceOf, WithoutAFrameOfTheProgramIsTheInnermost) {
  EXPECT_EQ(place_by({{"wait", "/usr/lib/python3.11/threading.py", 320},
                      {"run", "/usr/lib/python3.11/runpy.py", 9}}),
            "wait (threading.py:320)");
  EXPECT_EQ(place_by({{"native", "libc.so.6", 0}}), "native (libc.so.6)");
}

TEST(PlaceOf, WithoutPythonIsTheKernelsFunction) {
  EXPECT_EQ(place_by({}), "futex_do_wait (kernel)");
  EXPECT_EQ(place_of({.threads = {{.state = "S", .system_call = "flock"}}}), "flock (kernel)");
  EXPECT_EQ(place_of({.threads = {{.state = "R"}}}), "");
  EXPECT_EQ(place_of({}), "");
}

}  // namespace
}  // namespace chokepoint::record
