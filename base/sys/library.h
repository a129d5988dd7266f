// A shared library opened at run time, so that one binary runs on hosts with and without it. Closed
// with the object; its functions must not be called after that. Move only.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/sys/error.h"

namespace chokepoint::sys {

class Library {
 public:
  // "libnvidia-ml.so.1", looked for where the loader looks, or a path.
  static Result<Library> open(const std::string& name);
  // Stays in memory when it is closed, as what has threads of its own must: they may outlive the
  // last call.
  static Result<Library> open_for_good(const std::string& name);
  // One of this program's own (own_library() below), with what it needs of those that are carried.
  static Result<Library> open_own_for_good(std::string_view name);

  // Null where it has no such function. Function is a type such as int(unsigned*).
  template <class Function>
  Function* function(const char* name) const {
    return reinterpret_cast<Function*>(symbol(name));
  }

  // The same for one of many: `missing` keeps the name of the first that there is not.
  template <class Function>
  void find(const char* name, Function*& found, const char*& missing) const {
    found = function<Function>(name);
    if (found == nullptr && missing == nullptr) {
      missing = name;
    }
  }

  // The file in which a function was found.
  std::optional<std::string> path_of(const char* function) const;

 private:
  struct Close {
    void operator()(void* handle) const;
  };

  explicit Library(void* handle) : handle_(handle) {}
  static Result<Library> open(const std::string& name, int flags);
  void* symbol(const char* name) const;

  std::unique_ptr<void, Close> handle_;
};

// Holds a function's type that is declared here against that of a library's own header, where a
// build finds one: a wrong order or width of arguments would be reported by nothing else, since the
// library is opened at run time. Names of enumerations and of handles do not count.

// May be specialised for a struct of the header.
template <class Own>
struct Plain {
  using Type = Own;
};
template <class Own>
  requires std::is_enum_v<Own>
struct Plain<Own> {
  using Type = int;
};
template <class Target>
struct Plain<Target*> {
  using Type = std::conditional_t<
      std::is_arithmetic_v<Target>, Target*,
      std::conditional_t<std::is_enum_v<Target>, int*,
                         std::conditional_t<std::is_const_v<Target>, const void*, void*>>>;
};

template <class Function>
struct Shape;
template <class Returned, class... Given>
struct Shape<Returned (*)(Given...)> {
  using Type = typename Plain<Returned>::Type (*)(typename Plain<Given>::Type...);
};

template <class Own, class Theirs>
constexpr bool kSameType = std::is_same_v<typename Shape<Own>::Type, typename Shape<Theirs>::Type>;

// Where this program's own shared objects lie: what it opens or hands to others at run time, such
// as NCCL's profiler plugin. Beside the program, wherever it was unpacked:
//
//   …/bin/chokepoint   …/lib/chokepoint/NAME     installed, or the tarball
//   build/chokepoint   build/lib/chokepoint/NAME the build tree
//
// else in the program itself, where it was built as one file (packaging/portable).

// The program among them that may be given the right to capture: capture/main.cc.
inline constexpr std::string_view kCaptureProgram = "chokepoint-capture";

struct CarriedFile {
  std::string_view name;
  std::span<const std::byte> bytes;
  std::string_view needed_by = {};  // another carried library, which is opened after this one
};

// Where this is a program of one piece: packaging/portable defines it.
std::span<const CarriedFile> files_in_this_program();

// What this program carries from here on. `files` outlives all that asks. Before other threads run.
void carry_files(std::span<const CarriedFile> files);
std::span<const CarriedFile> carried_files();

// The absolute path of one that lies beside a program; nothing where there is none.
std::optional<std::filesystem::path> library_beside(const std::filesystem::path& program,
                                                    std::string_view name);
// Of this program, by /proc/self/exe.
std::optional<std::filesystem::path> library_beside(std::string_view name);
// The same, or of a carried file in memory: others can open it while this process lives. Any
// thread.
std::optional<std::filesystem::path> own_library(std::string_view name);

// What gives users the right to capture, as a command to type.
std::string command_to_allow_capture();

}  // namespace chokepoint::sys
