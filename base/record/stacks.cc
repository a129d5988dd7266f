#include "base/record/stacks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include <nlohmann/json.hpp>

#include "base/json/codec.h"

namespace chokepoint::record {
namespace {

constexpr std::size_t kMaxReadBytes = 2 * kMaxStacksBytes;
constexpr const char* kStacksWhat = "detail of stacks";

std::string json_of(const Stacks& stacks) {
  return json::to_json(stacks).dump(-1, ' ', false, json::Json::error_handler_t::replace);
}

// Python's own files, packages, and code without a file ("<frozen importlib._bootstrap>").
bool is_of_program(const StackFrame& frame) {
  constexpr std::array<std::string_view, 5> kLibraries{"/site-packages/", "/dist-packages/",
                                                       "/lib/python", "/lib64/python", "/torch/"};
  return !frame.file.empty() && !frame.file.starts_with('<') &&
         std::ranges::none_of(
             kLibraries, [&](std::string_view library) { return frame.file.contains(library); });
}

std::string frame_text(const StackFrame& frame) {
  const std::string_view name =
      std::string_view(frame.file).substr(frame.file.find_last_of('/') + 1);
  return frame.line > 0 ? fmt::format("{} ({}:{})", frame.function, name, frame.line)
                        : fmt::format("{} ({})", frame.function, name);
}

std::string kernel_text(const StackThread& thread) {
  const std::string& name = thread.waits_in.empty() ? thread.system_call : thread.waits_in;
  return name.empty() ? "" : name + " (kernel)";
}

}  // namespace

std::string text_of(const Stacks& stacks) {
  std::string text = json_of(stacks);
  for (Stacks shorter = stacks; text.size() > kMaxStacksBytes; text = json_of(shorter)) {
    // By halves: what stands last matters least.
    if (const std::size_t threads = shorter.threads.size(); threads > 1) {
      shorter.threads.resize(threads / 2);
    } else if (threads == 1 && !shorter.threads.front().frames.empty()) {
      shorter.threads.front().frames.resize(shorter.threads.front().frames.size() / 2);
    } else {
      shorter = {.rank = stacks.rank, .pid = stacks.pid};
    }
  }
  return text;
}

std::optional<Stacks> stacks_in(std::string_view detail) {
  const auto body = json::parse_object(detail, kMaxReadBytes, kStacksWhat);
  auto stacks = body ? json::from_json<Stacks>(*body, kStacksWhat) : fail(body.error());
  return stacks ? std::optional(*std::move(stacks)) : std::nullopt;
}

std::string place_of(const Stacks& stacks) {
  if (stacks.threads.empty()) {
    return "";
  }
  const StackThread& first = stacks.threads.front();
  if (first.frames.empty()) {
    return kernel_text(first);
  }
  const auto own = std::ranges::find_if(first.frames, is_of_program);
  return frame_text(own == first.frames.end() ? first.frames.front() : *own);
}

}  // namespace chokepoint::record
