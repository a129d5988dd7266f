// What newer versions of glibc have and 2.28 has not, as far as the program, the C++ library and
// static libraries ask for it. Part of portable programs and modules alone; nothing of it is
// exported.
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>

extern "C" {

// Since 2.32; what asks only saves atomic operations where there is one thread.
char __libc_single_threaded = 0;

// Since 2.33; before, the headers made calls of them that name the structure's version.
#ifdef __x86_64__
constexpr int kStatVersion = 1;
#else
constexpr int kStatVersion = 0;
#endif
int __xstat(int version, const char* path, struct stat* out);
int __lxstat(int version, const char* path, struct stat* out);
int __fxstat(int version, int descriptor, struct stat* out);
int __fxstatat(int version, int folder, const char* path, struct stat* out, int flags);

int stat(const char* path, struct stat* out) noexcept { return __xstat(kStatVersion, path, out); }
int lstat(const char* path, struct stat* out) noexcept { return __lxstat(kStatVersion, path, out); }
int fstat(int descriptor, struct stat* out) noexcept {
  return __fxstat(kStatVersion, descriptor, out);
}
int fstatat(int folder, const char* path, struct stat* out, int flags) noexcept {
  return __fxstatat(kStatVersion, folder, path, out, flags);
}
// The same structure on the machines that this is for.
int stat64(const char*, struct stat64*) noexcept __attribute__((alias("stat")));
int lstat64(const char*, struct stat64*) noexcept __attribute__((alias("lstat")));
int fstat64(int, struct stat64*) noexcept __attribute__((alias("fstat")));
int fstatat64(int, const char*, struct stat64*, int) noexcept __attribute__((alias("fstatat")));

// Since 2.30. Who waits looks at its own clock and its own condition again.
int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                           const timespec* until) {
  constexpr long kNsPerSecond = 1'000'000'000;
  timespec own{};
  timespec real{};
  clock_gettime(clock, &own);
  clock_gettime(CLOCK_REALTIME, &real);
  long ns = real.tv_nsec + until->tv_nsec - own.tv_nsec;
  time_t seconds = real.tv_sec + until->tv_sec - own.tv_sec;
  for (; ns < 0; ns += kNsPerSecond) {
    --seconds;
  }
  for (; ns >= kNsPerSecond; ns -= kNsPerSecond) {
    ++seconds;
  }
  const timespec deadline{.tv_sec = seconds, .tv_nsec = ns};
  return pthread_cond_timedwait(condition, mutex, &deadline);
}

// Since 2.36.
uint32_t arc4random() noexcept {
  uint32_t value = 0;
  while (getrandom(&value, sizeof value, 0) != sizeof value) {
  }
  return value;
}

// Since 2.35. "Not found": GCC's unwinder looks for itself then.
int _dl_find_object(void* /*address*/, void* /*result*/) noexcept { return -1; }

// Of each program and module, in the part of glibc that is linked into them.
extern void* __dso_handle;
int __cxa_atexit(void (*function)(void*), void* argument, void* module) noexcept;
int atexit(void (*function)()) noexcept {
  return __cxa_atexit(reinterpret_cast<void (*)(void*)>(function), nullptr,
                      static_cast<void*>(&__dso_handle));
}

}  // extern "C"
