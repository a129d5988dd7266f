// What an agent says to a preflight's coordinator: whatever the bytes, events that make sense, in
// an order that makes sense, or the end of the talk.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "preflight/agents/agent_protocol.h"

namespace {

using namespace chokepoint::preflight;

// One that asks again as soon as there is an answer, and gives every other task up.
class Coordinator {
 public:
  explicit Coordinator(Talk& talk) : talk_(talk) { talk_.hello(); }

  void happened(const Event& event) {
    if (std::holds_alternative<AgentLeft>(event)) std::abort();
    if (std::holds_alternative<AgentJoined>(event) == has_come_) std::abort();
    if (const auto* answered = std::get_if<Answered>(&event)) {
      if (answered->task != number_ || talk_.task()) std::abort();
    }
    has_come_ = true;
    ask();
    if (number_ % 2 == 0) {
      if (talk_.give_up(number_).empty() || talk_.task()) std::abort();
      ask();
    }
  }

 private:
  void ask() {
    if (talk_.stage() != Talk::Stage::Idle) std::abort();
    talk_.begin(++number_, {.kind = TaskKind::Doctor});
    if (talk_.task() != number_) std::abort();
  }

  Talk& talk_;
  bool has_come_ = false;
  TaskNumber number_ = 0;
};

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  static const AgentPoolOptions options{.own = {.program = "fuzz", .host = "here"}};
  Talk talk(options, 0, "127.0.0.1", "127.0.0.1 port 1");
  Coordinator coordinator(talk);
  while (size > 0) {
    const std::span<std::byte> into = talk.wanted();
    if (into.empty()) std::abort();
    const std::size_t count = std::min(into.size(), size);
    std::memcpy(into.data(), data, count);
    data += count;
    size -= count;
    const auto step = talk.took(count);
    if (!step) {
      if (step.error().presence == Presence::Present || describe(step.error().error).empty()) {
        std::abort();
      }
      break;
    }
    if (step->event) coordinator.happened(*step->event);
  }
  std::ignore = describe(talk.silent().error);
  std::ignore = describe(talk.closed().error);
  return 0;
}
