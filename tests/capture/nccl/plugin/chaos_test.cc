// Calls of NCCL in any order: all sources of the plugin stay whole.
#include <gmock/gmock.h>

#include <bit>
#include <random>

#include "tests/capture/nccl/plugin/loaded.h"

namespace chokepoint::capture::nccl::test {
namespace {

namespace event = plugin::event;

// Whatever comes, and in whatever order, with handles that were given out, that were changed in a
// bit, or that are made up.
class Chaos {
 public:
  explicit Chaos(std::uint64_t seed) : random_(seed) {}

  void run(int calls) {
    for (int each = 0; each < calls; ++each) {
      call();
    }
  }
  Loaded& loaded() { return loaded_; }

 private:
  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }

  void* any() {
    if (known_.empty() || below(8) == 0) {
      return std::bit_cast<void*>(random_());
    }
    auto bits = std::bit_cast<std::uint64_t>(known_[below(known_.size())]);
    return std::bit_cast<void*>(below(8) == 0 ? bits ^ std::uint64_t{1} << below(64) : bits);
  }

  void keep(void* handle) {
    if (known_.size() < 200) {
      known_.push_back(handle);
    } else {
      known_[below(known_.size())] = handle;
    }
  }

  void begin() {
    Descriptor descriptor = other(std::uint64_t{1} << below(16), any());
    if (descriptor.type == event::kCollective) {
      descriptor = collective(random_());
    } else if (descriptor.type == event::kMessage) {
      descriptor = message("Recv", -3);
    } else if (descriptor.type == event::kProxy) {
      descriptor = proxy(any(), 255, below(2) == 0);
    }
    keep(loaded_.start(any(), descriptor));
  }

  void call() {
    switch (below(8)) {
      case 0:
        keep(loaded_.join(random_()));
        break;
      case 1:
        loaded_.leave(any());
        break;
      case 2:
      case 3:
        loaded_.stop(any());
        break;
      case 4:
        loaded_.state(any(), static_cast<State>(below(32)), random_());
        break;
      default:
        begin();
        break;
    }
  }

  Loaded loaded_;
  std::mt19937_64 random_;
  std::vector<void*> known_;
};

TEST(NcclPluginChaos, NoOrderOfCallsHurts) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Chaos chaos(seed);
    chaos.run(20'000);
    ASSERT_NE(chaos.loaded().file(), nullptr) << seed;
    EXPECT_GT(chaos.loaded().file()->header.refused.load(), 0U) << seed;
    for (const Words& each : chaos.loaded().records()) {
      ASSERT_GE(static_cast<int>(kind_of(each)), 1) << seed;
      ASSERT_LE(static_cast<int>(kind_of(each)), 7) << seed;
    }
  }
}

}  // namespace
}  // namespace chokepoint::capture::nccl::test
