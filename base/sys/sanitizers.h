// Whether this build is instrumented by a sanitizer: what it reports must be seen, and it needs
// system calls of its own.
#pragma once

namespace chokepoint::sys {

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define CHOKEPOINT_IS_SANITIZED
#endif
#endif
#if defined(CHOKEPOINT_IS_SANITIZED) || defined(__SANITIZE_ADDRESS__) || \
    defined(__SANITIZE_THREAD__)
inline constexpr bool kIsSanitized = true;
#else
inline constexpr bool kIsSanitized = false;
#endif

}  // namespace chokepoint::sys
