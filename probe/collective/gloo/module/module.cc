#include <algorithm>
#include <cstring>
#include <exception>
#include <span>
#include <string_view>

#include "probe/collective/gloo/module/group.h"
#include "probe/collective/gloo/module/interface.h"

namespace chokepoint::probe::collective::gloo_module {
namespace {

void tell(Text* problem, std::string_view words) {
  const std::size_t size = std::min(words.size(), sizeof problem->words - 1);
  std::memcpy(problem->words, words.data(), size);
  problem->words[size] = '\0';
}

template <class Function>
int guarded(Text* problem, Function&& function) {
  try {
    function();
    return 0;
  } catch (const std::exception& thrown) {
    tell(problem, thrown.what());
  } catch (...) {
    tell(problem, "unknown failure");
  }
  return 1;
}

int open(const Meeting* meeting, const StoreCalls* store, Group** made, Text* problem) {
  return guarded(problem, [&] { *made = std::make_unique<Group>(*meeting, *store).release(); });
}

int prepare(Group* group, const Work* work, Text* problem) {
  return guarded(problem, [&] { group->prepare(*work); });
}

int run(Group* group, int runs, double* times_us, Text* problem) {
  return guarded(problem, [&] {
    for (double& took : std::span(times_us, static_cast<std::size_t>(std::max(runs, 0)))) {
      took = group->run();
    }
  });
}

void close(Group* group) {
  Text ignored{};
  guarded(&ignored, [&] { const std::unique_ptr<Group> owned(group); });
}

constexpr Functions kFunctions{
    .layout = kLayout, .open = open, .prepare = prepare, .run = run, .close = close};

}  // namespace
}  // namespace chokepoint::probe::collective::gloo_module

// The one name that it exports; kEntryName.
extern "C"
    [[gnu::visibility("default")]] const chokepoint::probe::collective::gloo_module::Functions*
    chokepoint_gloo_functions() {
  return &chokepoint::probe::collective::gloo_module::kFunctions;
}
