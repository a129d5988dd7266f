#include "capture/stall/py_spy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>

#include <nlohmann/json.hpp>

#include "base/json/codec.h"
#include "base/json/fields.h"

namespace chokepoint::capture::stall {
namespace {

// Judgements: what names a place, and keeps a rank's stacks below record::kMaxStacksBytes.
constexpr std::size_t kMaxNameBytes = 96;
constexpr std::size_t kMaxPathBytes = 192;
constexpr std::size_t kMaxFieldBytes = std::size_t{64} << 10;  // of a text that is read
constexpr std::size_t kMaxPythonFrames = 48;
constexpr std::size_t kMaxPythonThreads = 16;

struct DumpedFrame {
  std::string name = {};
  std::string file = {};
  std::int64_t line = 0;
};

struct DumpedThread {
  std::string name = {};
  std::optional<std::int64_t> id = {};
  std::vector<DumpedFrame> frames = {};
};

struct Dump {
  std::vector<DumpedThread> threads = {};
};

}  // namespace
}  // namespace chokepoint::capture::stall

namespace chokepoint {

template <>
struct Fields<capture::stall::DumpedFrame> {
  using F = capture::stall::DumpedFrame;
  static constexpr FieldList kList{
      field("name", &F::name).up_to_bytes(capture::stall::kMaxFieldBytes),
      field("filename", &F::file).up_to_bytes(capture::stall::kMaxFieldBytes),
      field("line", &F::line)};
};

template <>
struct Fields<capture::stall::DumpedThread> {
  using T = capture::stall::DumpedThread;
  static constexpr FieldList kList{
      field("thread_name", &T::name).up_to_bytes(capture::stall::kMaxFieldBytes).null_if_empty(),
      field("os_thread_id", &T::id), field("frames", &T::frames)};
};

template <>
struct Fields<capture::stall::Dump> {
  using D = capture::stall::Dump;
  static constexpr FieldList kList{field("threads", &D::threads)};
};

}  // namespace chokepoint

namespace chokepoint::capture::stall {

std::vector<std::string> py_spy_command(std::int64_t pid) {
  return {"py-spy", "dump", "--nonblocking", "--json", "--pid", fmt::format("{}", pid)};
}

std::string cleaned(std::string_view text, std::size_t most_bytes) {
  constexpr unsigned char kDelete = 0x7f;
  std::string clean(text.substr(0, most_bytes));
  std::ranges::replace_if(
      clean, [](unsigned char each) { return each < ' ' || each == kDelete; }, '?');
  return clean;
}

Result<std::vector<record::StackThread>> threads_in_dump(std::string_view dump) {
  constexpr const char* kDumpWhat = "output of py-spy";
  TRY(const json::Json body,
      json::parse_object(fmt::format(R"({{"threads":{}}})", dump), 2 * kMaxDumpBytes, kDumpWhat));
  TRY(Dump found, json::from_json<Dump>(body, kDumpWhat));
  found.threads.resize(std::min(found.threads.size(), kMaxPythonThreads));
  std::vector<record::StackThread> threads;
  for (DumpedThread& each : found.threads) {
    each.frames.resize(std::min(each.frames.size(), kMaxPythonFrames));
    record::StackThread& thread = threads.emplace_back(
        record::StackThread{.id = each.id.value_or(0), .name = cleaned(each.name, kMaxNameBytes)});
    for (const DumpedFrame& frame : each.frames) {
      thread.frames.push_back({.function = cleaned(frame.name, kMaxNameBytes),
                               .file = cleaned(frame.file, kMaxPathBytes),
                               .line = frame.line});
    }
  }
  return threads;
}

}  // namespace chokepoint::capture::stall
