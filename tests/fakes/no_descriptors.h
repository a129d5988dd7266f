// Leaves this process no more than the first few descriptors while it lives, so that whatever opens
// one fails as where a limit is reached.
#pragma once

#include <sys/resource.h>

namespace chokepoint::fakes {

// Before each virtual call clang's UndefinedBehaviorSanitizer opens a pipe, by which it sees
// whether the object can be read, and takes one that fails for an object that cannot: such tests
// are skipped then.
#if defined(__has_feature)
constexpr bool kVirtualCallsNeedDescriptors = __has_feature(undefined_behavior_sanitizer);
#else
constexpr bool kVirtualCallsNeedDescriptors = false;
#endif

class NoDescriptors {
 public:
  explicit NoDescriptors(rlim_t left) {
    getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit few{.rlim_cur = left, .rlim_max = before_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &few);
  }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;
  ~NoDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_ = {};
};

}  // namespace chokepoint::fakes
