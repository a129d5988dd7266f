// Preloaded into a program under test, it stands in for calls whose failure cannot be had here:
//   LAB_NO_LOCKS=1          flock and fcntl's locks fail as on an NFS without a lock daemon
//   LAB_CLOCK_STEP_FILE=F   the wall clock is off by as many seconds as F says; nothing is F
//   missing
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <ctime>

namespace {

template <class Function>
Function* real(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

bool without_locks() { return std::getenv("LAB_NO_LOCKS") != nullptr; }

bool is_lock(int command) {
  return command == F_SETLK || command == F_SETLKW || command == F_GETLK ||
         command == F_OFD_SETLK || command == F_OFD_SETLKW || command == F_OFD_GETLK;
}

int no_locks() {
  errno = ENOLCK;
  return -1;
}

long seconds_off() {
  const char* path = std::getenv("LAB_CLOCK_STEP_FILE");
  std::FILE* file = path != nullptr ? std::fopen(path, "re") : nullptr;
  long seconds = 0;
  if (file != nullptr) {
    if (std::fscanf(file, "%ld", &seconds) != 1) {
      seconds = 0;
    }
    std::fclose(file);
  }
  return seconds;
}

}  // namespace

extern "C" {

int flock(int fd, int operation) noexcept {
  return without_locks() ? no_locks() : real<int(int, int)>("flock")(fd, operation);
}

int fcntl(int fd, int command, ...) {
  va_list words;
  va_start(words, command);
  void* word = va_arg(words, void*);
  va_end(words);
  if (without_locks() && is_lock(command)) {
    return no_locks();
  }
  return real<int(int, int, void*)>("fcntl")(fd, command, word);
}

int fcntl64(int fd, int command, ...) {
  va_list words;
  va_start(words, command);
  void* word = va_arg(words, void*);
  va_end(words);
  return fcntl(fd, command, word);
}

int clock_gettime(clockid_t clock, timespec* time) noexcept {
  const int result = real<int(clockid_t, timespec*)>("clock_gettime")(clock, time);
  if (result == 0 && clock == CLOCK_REALTIME) {
    time->tv_sec += seconds_off();
  }
  return result;
}

}  // extern "C"
