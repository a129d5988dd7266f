// Owns one file descriptor and closes it. Moves, never copies.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "base/sys/error.h"

namespace chokepoint::sys {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) {
      reset(std::exchange(other.fd_, -1));
    }
    return *this;
  }
  ~Descriptor() { reset(); }

  explicit operator bool() const { return fd_ >= 0; }
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }
  void reset(int fd = -1) {
    if (fd_ >= 0) {
      close(fd_);
    }
    fd_ = fd;
  }

 private:
  int fd_ = -1;
};

// Has something come to this descriptor, such as the signal that interrupts a command?
bool is_readable(int descriptor);

// How many files and connections this process may have open. Call before any thread.

// As many as the system lets this process have.
void raise_descriptor_limit();

// The same, for work of which it is known how many it takes, beside what any process has open:
// Exhausted where the system does not let it have them.
Result<> want_descriptors(std::size_t count);

// In a process just forked: closes everything but these. The other standard streams lead nowhere,
// but for standard error under a sanitizer. Takes no number that is not taken already: a limit on
// descriptors may leave none.
void close_all_but(std::vector<int> kept);

// The same for one, which it returns under its new number.
int keep_only(int descriptor);

// A pipe whose ends no child inherits but by being handed one. Owned by who opens it; any thread.

struct Pipe {
  Descriptor read;
  Descriptor write;
};

// The words are of the error: what the pipe is opened for.
Result<Pipe> open_pipe(std::string_view operation, std::string_view subject);

}  // namespace chokepoint::sys
