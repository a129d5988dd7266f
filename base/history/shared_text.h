// A text that many rows have in common, as the name of a document: copies of it share one string.
// A value; any thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace chokepoint::history {

class SharedText {
 public:
  SharedText() = default;
  SharedText(std::string text)  // NOLINT(google-explicit-constructor): a row is written with texts
      : text_(text.empty() ? nullptr : std::make_shared<const std::string>(std::move(text))) {}
  SharedText(const char* text) : SharedText(std::string(text)) {}  // NOLINT: as above

  // NOLINTNEXTLINE(google-explicit-constructor): it is read as any other text
  operator const std::string&() const {
    static const std::string none;
    return text_ ? *text_ : none;
  }
  std::string_view view() const { return static_cast<const std::string&>(*this); }

  friend bool operator==(const SharedText& one, std::string_view other) {
    return one.view() == other;
  }

 private:
  std::shared_ptr<const std::string> text_;
};

}  // namespace chokepoint::history
