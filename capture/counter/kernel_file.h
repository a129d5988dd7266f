// Files of /proc and /sys that are read up to ten times a second: opened once, and parsed without
// an allocation. Each belongs to the sampler that reads it; the watcher's thread only.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/sys/descriptor.h"
#include "base/sys/error.h"
#include "base/sys/number.h"
#include "base/sys/root.h"

namespace chokepoint::capture::counter {

// Its descriptor stays open, which makes a reading five to ten times cheaper; a file that was
// removed and came back is opened again. Without `stays_open` each reading opens and closes it, for
// samplers that would hold too many.
class KernelFile {
 public:
  KernelFile(const sys::Root& root, std::string_view path, bool stays_open = true)
      : place_(root.at(path).string()), path_(path), stays_open_(stays_open) {}

  // Reads into the buffer, whose storage is reused; the result points into it.
  Result<std::string_view> read(std::string& buffer);
  const std::string& path() const { return path_; }  // on the host, without the root

 private:
  // The number of bytes, or -1.
  ssize_t read_open(std::string& buffer) const;

  std::string place_;
  std::string path_;
  bool stays_open_;
  sys::Descriptor file_;
};

// The words of a kernel's table one by one; each points into the text.
class Words {
 public:
  explicit Words(std::string_view text, std::string_view separators = " \t\n")
      : text_(text), separators_(separators) {}

  // Empty at the end.
  std::string_view next() {
    const std::size_t first = text_.find_first_not_of(separators_);
    if (first == std::string_view::npos) {
      return text_ = {};
    }
    const std::size_t end = std::min(text_.find_first_of(separators_, first), text_.size());
    const std::string_view word = text_.substr(first, end - first);
    text_.remove_prefix(end);
    return word;
  }
  void skip(std::size_t words) {
    while (words-- > 0) {
      next();
    }
  }

 private:
  std::string_view text_;
  std::string_view separators_;
};

inline Words lines_of(std::string_view text) { return Words(text, "\n"); }

inline std::optional<std::uint64_t> number_in(std::string_view word, int base = 10) {
  return sys::parse_number<std::uint64_t>(word, base);
}

// From /proc/PID/stat of a process or a thread.
struct ProcessStat {
  std::uint64_t cpu_ns = 0;  // the kernel counts in ticks of 10 ms
  std::uint64_t memory_bytes = 0;
  std::uint64_t start_ticks = 0;  // since the host started
};

std::optional<ProcessStat> process_stat_in(std::string_view text);

}  // namespace chokepoint::capture::counter
