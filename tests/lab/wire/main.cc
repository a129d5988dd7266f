// usage: lab_wire NAMESPACE_A INTERFACE_A NAMESPACE_B INTERFACE_B [seed=N] [there.PROPERTY=…]
//          [back.PROPERTY=…]
//
// Joins two namespaces by a wire of known properties (settings.h) and obeys commands on standard
// input (relay.h). Prints "ready" once both devices are there.
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <charconv>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tests/lab/wire/relay.h"

namespace chokepoint::lab {
namespace {

constexpr std::size_t kPlaces = 4;
constexpr int kBeforeOthers = -15;

Result<> apply_setting(WireSettings& settings, std::string_view word) {
  if (word.starts_with("there.")) {
    return apply_word(settings.there, word.substr(6));
  }
  if (word.starts_with("back.")) {
    return apply_word(settings.back, word.substr(5));
  }
  if (word.starts_with("seed=") &&
      std::from_chars(word.data() + 5, word.data() + word.size(), settings.seed).ec ==
          std::errc{}) {
    return {};
  }
  return fail(ErrorKind::Usage, "wire", word, "no such setting");
}

// A wire is hardware where it stands for one: it neither waits its turn nor rounds its timers.
void behave_as_hardware() {
  prctl(PR_SET_TIMERSLACK, 1UL);
  setpriority(PRIO_PROCESS, 0, kBeforeOthers);
}

Result<> run(std::span<const std::string> words) {
  if (words.size() < kPlaces) {
    return fail(ErrorKind::Usage, "wire", "", "needs two namespaces, each with an interface");
  }
  WireSettings settings;
  for (const std::string& word : words.subspan(kPlaces)) {
    if (auto applied = apply_setting(settings, word); !applied) {
      return applied;
    }
  }
  auto a = Tap::open(words[0], words[1]);
  auto b = a ? Tap::open(words[2], words[3]) : Result<Tap>(fail(a.error()));
  if (!b) {
    return fail(b.error());
  }
  behave_as_hardware();
  const sys::SystemClock clock;
  Relay relay(std::move(*a), std::move(*b), settings, clock);
  if (auto prepared = relay.prepare(); !prepared) {
    return prepared;
  }
  fmt::print("ready\n");
  fflush(stdout);
  return relay.run(STDIN_FILENO, STDOUT_FILENO);
}

}  // namespace
}  // namespace chokepoint::lab

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (auto done = chokepoint::lab::run(words); !done) {
    fmt::print(stderr, "lab_wire: {}\n", chokepoint::describe(done.error()));
    return 1;
  }
  return 0;
}
