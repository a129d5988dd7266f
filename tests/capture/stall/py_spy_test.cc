#include "capture/stall/py_spy.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace chokepoint::capture::stall {
namespace {

// As serde_json writes py-spy's StackTrace and Frame.
constexpr const char* kDump = R"([
  {
    "pid": 17,
    "thread_id": 140012345678912,
    "thread_name": "MainThread",
    "os_thread_id": 17,
    "active": false,
    "owns_gil": false,
    "frames": [
      {
        "name": "load_batch",
        "filename": "/home/u/train.py",
        "module": null,
        "short_filename": "train.py",
        "line": 41,
        "locals": null,
        "is_entry": true,
        "is_shim_entry": true
      },
      {
        "name": "<module>",
        "filename": "/home/u/train.py",
        "module": null,
        "short_filename": "train.py",
        "line": 90,
        "locals": null,
        "is_entry": true,
        "is_shim_entry": false
      }
    ],
    "process_info": null
  },
  {
    "pid": 17,
    "thread_id": 140012345670000,
    "thread_name": null,
    "os_thread_id": null,
    "active": true,
    "owns_gil": false,
    "frames": [],
    "process_info": null
  }
])";

TEST(PySpy, ThreadsAreReadWithTheirFrames) {
  const auto threads = threads_in_dump(kDump);
  ASSERT_TRUE(threads) << describe(threads.error());
  ASSERT_EQ(threads->size(), 2U);
  const record::StackThread& first = threads->front();
  EXPECT_EQ(first.id, 17);
  EXPECT_EQ(first.name, "MainThread");
  ASSERT_EQ(first.frames.size(), 2U);
  EXPECT_EQ(first.frames[0].function, "load_batch");
  EXPECT_EQ(first.frames[0].file, "/home/u/train.py");
  EXPECT_EQ(first.frames[0].line, 41);
  EXPECT_EQ(threads->back().id, 0);
  EXPECT_EQ(threads->back().name, "");
}

TEST(PySpy, WhatIsNoDumpIsAnError) {
  for (const char* text : {"", "{}", "[", "7", "Error: no such process", "[{}]",
                           R"([{"frames":7}])", "[]}, {\"threads\":[]"}) {
    EXPECT_FALSE(threads_in_dump(text)) << text;
  }
  EXPECT_FALSE(threads_in_dump(std::string(1'000, '[')));
  EXPECT_TRUE(threads_in_dump("[]"));
}

// They come from the memory of the job's process.
TEST(PySpy, TextsAreBoundedAndClean) {
  const std::string frame = fmt::format(R"({{"name":"a\u001b[31m\n{}","filename":"{}","line":1}})",
                                        std::string(1'000, 'x'), std::string(1'000, '/'));
  std::string frames = frame;
  for (int count = 1; count < 100; ++count) {
    frames += "," + frame;
  }
  const auto threads = threads_in_dump(
      fmt::format(R"([{{"thread_name":"t","os_thread_id":7,"frames":[{}]}}])", frames));
  ASSERT_TRUE(threads) << describe(threads.error());
  const auto& read = threads->front().frames;
  EXPECT_LT(read.size(), 100U);
  EXPECT_TRUE(read.front().function.starts_with("a?[31m?x"));
  EXPECT_LT(read.front().function.size(), 100U);
  EXPECT_LT(read.front().file.size(), 200U);
}

}  // namespace
}  // namespace chokepoint::capture::stall
