#include "tests/preflight/crowd/hostile.h"

#include <algorithm>
#include <array>

namespace chokepoint::preflight::crowd {
namespace {

constexpr std::array<std::string_view, static_cast<std::size_t>(Behaviour::Last)> kNames{
    "good",
    "silent",
    "closes",
    "http",
    "garbage",
    "huge-length",
    "half-frame",
    "wrong-framing",
    "deep-welcome",
    "other-version",
    "old-version",
    "impostor",
    "busy",
    "no-such-service",
    "never-ready",
    "queues-for-ever",
    "strange-facts",
    "hidden",
    "never-answers",
    "never-reads",
    "dies",
    "half-answer",
    "wrong-task",
    "answers-twice",
    "unasked",
    "deep-answer",
    "large-answer",
    "no-object",
    "invalid-text",
    "neither-nor",
    "error-of-wrong-type",
    "wrong-message",
    "floods",
    "byte-by-byte",
    "ugly-words"};

}  // namespace

std::string_view name_of(Behaviour behaviour) {
  return kNames.at(static_cast<std::size_t>(behaviour));
}

Behaviour behaviour_named(std::string_view name) {
  return static_cast<Behaviour>(std::ranges::find(kNames, name) - kNames.begin());
}

std::string frame_of_length(control::Type type, std::uint32_t length, unsigned char framing) {
  std::string text{'C', 'K', static_cast<char>(framing), static_cast<char>(type)};
  for (const unsigned shift : {24U, 16U, 8U, 0U}) {
    text += static_cast<char>((length >> shift) & 0xffU);
  }
  return text;
}

std::string frame(control::Type type, std::string_view body) {
  return frame_of_length(type, static_cast<std::uint32_t>(body.size())).append(body);
}

std::string ugly_words() { return "\x1b[31m<script>alert('\"&\n\t\x07\xe2\x80\xae%s{}"; }

std::string nested(int depth) {
  const auto count = static_cast<std::size_t>(depth);
  return R"({"a":)" + std::string(count, '[') + std::string(count, ']') + "}";
}

}  // namespace chokepoint::preflight::crowd
