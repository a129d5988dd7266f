// Runs run_job, the stand-in for chokepoint, with its streams in the test's hands.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/sys/descriptor.h"
#include "base/sys/process.h"

namespace chokepoint::capture::job {

struct Ends {
  sys::Descriptor read = {};
  sys::Descriptor write = {};
};
Ends open_pipe();

// Until the end, or until so many bytes came.
std::string read_all(int fd);
std::string read_some(int fd, std::size_t bytes);
std::string read_until(int fd, const std::string& word);

// A path that is free, below the temporary folder.
std::string temporary_path();
std::string content_of(const std::string& path);
// Waits until it holds, for some seconds.
bool await(const std::function<bool()>& condition);
// As /proc/PID/status has it; empty where there is none.
std::string status_field(pid_t pid, const std::string& name);

using Words = std::vector<std::string>;

struct Streams {
  int in = -1;
  int out = -1;
  int err = -1;
};

// Runs in the forked child before it becomes run_job.
using Prepare = std::function<void()>;

class Driver {
 public:
  // Arguments of run_job. The child leads a group of its own.
  explicit Driver(
      const Words& arguments, const Streams& streams = {}, const Prepare& prepare = [] {});
  ~Driver();  // kills it, and waits for it
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  pid_t pid() const { return pid_; }
  void signal(int number) const;
  // As shells say it.
  int wait();

 private:
  pid_t pid_ = -1;
  std::optional<int> code_ = {};
};

struct Outcome {
  int code = 0;
  std::string out = {};
  std::string err = {};
};
// Runs it to the end, with a pipe for each output.
Outcome run(const Words& arguments, const Prepare& prepare = [] {});
Words shell(const std::string& script);

}  // namespace chokepoint::capture::job
