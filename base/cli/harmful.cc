#include "base/cli/harmful.h"

#include <algorithm>
#include <array>

namespace chokepoint::cli {
namespace {

struct Codes {
  char32_t first = 0;
  char32_t last = 0;
};

// Of the Unicode Character Database: control characters, line and paragraph separators, all of
// Bidi_Control, and of Default_Ignorable_Code_Point all but what ordinary writing has (the joiners
// U+200C and U+200D, the variation selectors U+FE00 to U+FE0F).
constexpr auto kHarmful = std::to_array<Codes>({
    {0x00, 0x1F},     {0x7F, 0x9F},       {0xAD, 0xAD},       {0x034F, 0x034F},   {0x061C, 0x061C},
    {0x115F, 0x1160}, {0x17B4, 0x17B5},   {0x180B, 0x180F},   {0x200B, 0x200B},   {0x200E, 0x200F},
    {0x2028, 0x202E}, {0x2060, 0x206F},   {0x3164, 0x3164},   {0xFEFF, 0xFEFF},   {0xFFA0, 0xFFA0},
    {0xFFF0, 0xFFFB}, {0x1BCA0, 0x1BCA3}, {0x1D173, 0x1D17A}, {0xE0000, 0xE0FFF},
});

}  // namespace

char32_t code_of(std::string_view letter) {
  const auto first = static_cast<unsigned char>(letter.front());
  char32_t code = letter.size() == 1 ? first : first & (0x7FU >> letter.size());
  for (const char next : letter.substr(1)) {
    code = (code << 6U) | (static_cast<unsigned char>(next) & 0x3FU);
  }
  return code;
}

bool is_harmful(char32_t code) {
  return std::ranges::any_of(
      kHarmful, [&](const Codes& codes) { return code >= codes.first && code <= codes.last; });
}

}  // namespace chokepoint::cli
