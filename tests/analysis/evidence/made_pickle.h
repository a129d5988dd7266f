// A pickle as PyTorch's own writer makes them: protocol 2, texts kept in the memo.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace chokepoint::analysis {

class MadePickle {
 public:
  MadePickle() : bytes_("\x80\x02") {}

  MadePickle& raw(std::string_view bytes) {
    bytes_ += bytes;
    return *this;
  }
  MadePickle& text(std::string_view text) {
    bytes_ += 'X';
    little(text.size(), 4);
    bytes_ += text;
    return raw("q").put(static_cast<char>(kept_++));
  }
  MadePickle& number(std::int64_t value) {
    raw("\x8a").put(8);
    little(static_cast<std::uint64_t>(value), 8);
    return *this;
  }
  MadePickle& put(char byte) {
    bytes_ += byte;
    return *this;
  }
  std::string done() const { return bytes_ + "."; }

 private:
  void little(std::uint64_t value, int width) {
    for (int at = 0; at < width; ++at) {
      bytes_ += static_cast<char>(value >> (8 * at));
    }
  }

  std::string bytes_;
  int kept_ = 0;
};

}  // namespace chokepoint::analysis
