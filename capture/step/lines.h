// Puts pieces of output together to lines: ended by a line feed, or by the carriage return with
// which a progress bar goes back to its beginning. Colour codes are left out. Of an endless line
// the beginning is kept. Fixed memory. One thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace chokepoint::capture::step {

class Lines {
 public:
  static constexpr std::size_t kMostBytes = 1'024;

  // Calls `on_line(std::string_view line)` for each line that ends in these bytes.
  template <class OnLine>
  void take(std::string_view bytes, OnLine&& on_line) {
    for (const char byte : bytes) {
      if (byte == '\n' || byte == '\r') {
        if (size_ > 0) {
          on_line(open());
        }
        size_ = 0;
        escape_ = Escape::None;
      } else {
        add(byte);
      }
    }
  }

  // What has no end yet. A bar that is redrawn has its end only with the next one.
  std::string_view open() const { return {line_.data(), size_}; }

 private:
  enum class Escape : std::uint8_t { None, Begun, Control };

  void add(char byte) {
    switch (escape_) {
      case Escape::None:
        if (byte == '\x1b') {
          escape_ = Escape::Begun;
        } else if (size_ < kMostBytes) {
          line_[size_++] = byte;
        }
        return;
      case Escape::Begun:
        escape_ = byte == '[' ? Escape::Control : Escape::None;
        return;
      case Escape::Control:
        escape_ = byte >= '@' && byte <= '~' ? Escape::None : Escape::Control;
        return;
    }
  }

  std::array<char, kMostBytes> line_ = {};
  std::size_t size_ = 0;
  Escape escape_ = Escape::None;
};

}  // namespace chokepoint::capture::step
