// The golden picture of a page: tests/fixtures/pages/NAME.txt holds it as it was last looked at and
// found good. Where a page differs, the test fails with a diff; `scripts/golden` writes the files
// anew, and `git diff` shows what changed. One picture a page: what a page holds under other
// circumstances is tested by its fields. The sentences of a function that has many are one picture,
// too: Sentences.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

namespace chokepoint::fakes {

inline void expect_golden(std::string_view name, const std::string& page) {
  // By this name `scripts/golden` finds the tests that write a file.
  ASSERT_TRUE(std::string_view(testing::UnitTest::GetInstance()->current_test_info()->name())
                  .starts_with("Picture"))
      << "a test with a golden picture is called Picture…";
  const auto file =
      std::filesystem::path(CHOKEPOINT_FIXTURES) / "pages" / (std::string(name) + ".txt");
  if (std::getenv("CHOKEPOINT_WRITE_GOLDEN") != nullptr) {
    std::filesystem::create_directories(file.parent_path());
    std::ofstream out(file, std::ios::binary);
    out << page;
    EXPECT_TRUE(out.flush()) << file;
    return;
  }
  std::ifstream in(file, std::ios::binary);
  ASSERT_TRUE(in) << "no " << file << "; './scripts/golden' writes it";
  const std::string golden{std::istreambuf_iterator<char>(in), {}};
  EXPECT_EQ(golden, page) << "where the change is meant: './scripts/golden' writes " << file
                          << " anew";
}

// What a function says of each of several inputs: the input on a line, the sentence below it.
class Sentences {
 public:
  void add(std::string_view input, std::string_view sentence) {
    text_ += visible(input) + "\n    " + visible(sentence) + "\n";
  }
  const std::string& text() const { return text_; }

 private:
  // Control characters and line ends as C writes them, so that the file stays a text.
  static std::string visible(std::string_view bytes) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string text;
    for (const char c : bytes) {
      const auto byte = static_cast<unsigned char>(c);
      if (byte == '\n') {
        text += "\\n";
      } else if (byte < 0x20 || byte == 0x7f) {
        text += std::string("\\x") + kDigits[byte >> 4] + kDigits[byte & 0xf];
      } else {
        text += c;
      }
    }
    return text;
  }

  std::string text_;
};

}  // namespace chokepoint::fakes

#define EXPECT_GOLDEN(name, page)                 \
  do {                                            \
    SCOPED_TRACE(name);                           \
    chokepoint::fakes::expect_golden(name, page); \
  } while (false)
