// Where the threads of a rank are while its job stands still: the detail of an event of kind
// kStacks, which `run --stacks` writes for each rank that it looks at. Its texts come from the
// job's process: they are bounded and without control characters. Values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json/fields.h"

namespace chokepoint::record {

// Of the event. Its subject is the rank.
inline constexpr std::string_view kStacks = "stacks";

enum class StackSource : std::uint8_t {
  Kernel,  // /proc/PID/task alone
  PySpy,   // and py-spy, of threads that run Python
};

// Of Python.
struct StackFrame {
  std::string function = {};
  std::string file = {};  // its path
  std::int64_t line = 0;  // 0: not known
};

struct StackThread {
  std::int64_t id = 0;  // the kernel's; 0: not known
  std::string name = {};
  std::string state = {};                // "S"
  std::string waits_in = {};             // the kernel's function
  std::string system_call = {};          // "flock", or its number
  std::vector<std::string> kernel = {};  // the kernel's stack, the innermost first
  std::vector<StackFrame> frames = {};   // Python's, the innermost first
};

struct Stacks {
  std::optional<std::int64_t> rank = {};
  std::int64_t pid = 0;
  StackSource source = StackSource::Kernel;
  std::string remark = {};  // why there is nothing of py-spy
  std::int64_t idle_threads = 0;
  std::vector<StackThread> threads = {};  // the first thread first
};

// Threads are left out from the end on where the text would be longer than this.
inline constexpr std::size_t kMaxStacksBytes = std::size_t{32} << 10;
std::string text_of(const Stacks& stacks);
// nullopt of what is no such detail.
std::optional<Stacks> stacks_in(std::string_view detail);

// Where the first thread is, "load_batch (train.py:41)": the innermost frame of the program, which
// is not Python's own and not of a package; without one the innermost frame; without Python
// "nfs_wait_bit_killable (kernel)". Empty: not known.
std::string place_of(const Stacks& stacks);

}  // namespace chokepoint::record

namespace chokepoint {

template <>
struct EnumNames<record::StackSource> {
  using S = record::StackSource;
  static constexpr std::string_view kWhat = "source of stacks";
  static constexpr auto kNames =
      std::to_array<EnumName<S>>({{S::Kernel, "kernel"}, {S::PySpy, "py-spy"}});
};

template <>
struct Fields<record::StackFrame> {
  using F = record::StackFrame;
  static constexpr FieldList kList{field("function", &F::function, "name of the function"),
                                   field("file", &F::file, "path of the file"),
                                   field("line", &F::line, "line in the file; 0: not known")};
};

template <>
struct Fields<record::StackThread> {
  using T = record::StackThread;
  static constexpr FieldList kList{
      field("id", &T::id, "id of the thread in the kernel"),
      field("name", &T::name, "name of the thread"),
      field("state", &T::state, "state of the thread, the kernel's letter"),
      field("waits_in", &T::waits_in, "kernel function in which it waits"),
      field("system_call", &T::system_call, "name or number of the system call"),
      field("kernel", &T::kernel, "kernel stack, where the permission to read it exists"),
      field("frames", &T::frames, "Python frames, the innermost first")};
};

template <>
struct Fields<record::Stacks> {
  using S = record::Stacks;
  static constexpr FieldList kList{
      field("rank", &S::rank, "rank in the job"),
      field("pid", &S::pid, "id of its process"),
      field("source", &S::source, "where the stacks come from"),
      field("remark", &S::remark, "why there is nothing from py-spy"),
      field("idle_threads", &S::idle_threads, "number of idle threads that are left out"),
      field("threads", &S::threads, "threads, the main thread first")};
};

}  // namespace chokepoint
