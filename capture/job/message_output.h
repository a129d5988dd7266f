// Standard error of the process that is a job's parent, for its own messages. A reader that is
// gone does not end the process (SIGPIPE), and one that does not read does not block it: text
// without room in time is dropped, and later text is written once the reader reads again.
//
// One thread; at most one at a time.
#pragma once

#include <chrono>
#include <ostream>
#include <streambuf>
#include <string>
#include <string_view>

#include "base/sys/descriptor.h"

namespace chokepoint::capture::job {

class MessageBuffer final : public std::streambuf {
 public:
  // `descriptor` stays its owner's. A regular file is written as it is: where its disk does not
  // answer, it blocks every process that writes there.
  explicit MessageBuffer(int descriptor);

 protected:
  int_type overflow(int_type letter) override;
  std::streamsize xsputn(const char* text, std::streamsize size) override;
  int sync() override;

 private:
  // As write(2), without waiting where the kind of file allows that.
  ssize_t put(std::string_view text) const;

  int descriptor_;
  sys::Descriptor own_ = {};  // the same pipe or terminal, opened so that writing does not wait
  bool is_socket_ = false;
  bool is_gone_ = false;  // closed, or no process reads it any more
  bool is_late_ = false;  // the last message found no room
  std::string text_ = {};
};

// Once one was made, writing to a pipe without a reader is an error in this process, and no longer
// SIGPIPE. A program that it starts has SIGPIPE's default again, or ignores it where this process
// was started to ignore it.
class MessageOutput final : public std::ostream {
 public:
  explicit MessageOutput(int descriptor);

 private:
  MessageBuffer buffer_;
};

}  // namespace chokepoint::capture::job
