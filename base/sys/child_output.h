// A child process whose output is read as it comes, within bounds. Nothing here waits: the caller
// polls the descriptors together with its own. One thread.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/sys/descriptor.h"
#include "base/sys/error.h"
#include "base/sys/process.h"

namespace chokepoint::sys {

// A stream that the child writes to. Closed at its end, or where it cannot be read.
class ChildStream {
 public:
  // As much of what came last as explains a failure.
  static constexpr std::size_t kLastBytes = 4096;

  ChildStream() = default;
  explicit ChildStream(Descriptor read_end);

  // For poll(); -1 once it has ended.
  int descriptor() const { return from_.get(); }
  void close() { from_.reset(); }

  // How much has come; nothing where none has, 0 at the end.
  std::optional<std::size_t> read(std::span<char> into);
  // Appends what has come, until `text` is longer than `most`.
  void take(std::string& text, std::size_t most);
  // Appends what has come, of which the last kLastBytes are kept.
  void take_last(std::string& text);

 private:
  Descriptor from_;
};

struct ChildOutput {
  Process process;
  ChildStream out = {};
  ChildStream err = {};  // ended from the start where the two are joined
};

enum class ChildStreams { Apart, Joined };

// `spawn.out` and `spawn.err` are pipes of this function's own; `operation`: in errors.
Result<ChildOutput> start_child(Spawn spawn, std::string_view operation,
                                ChildStreams streams = ChildStreams::Apart);

}  // namespace chokepoint::sys
