#include "tests/capture/job/driver.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

namespace chokepoint::capture::job {
namespace {

using namespace std::chrono_literals;

int code_of(int raw) { return WIFSIGNALED(raw) ? 128 + WTERMSIG(raw) : WEXITSTATUS(raw); }

[[noreturn]] void become_driver(const Words& arguments, const Streams& streams,
                                const Prepare& prepare) {
  setpgid(0, 0);
  for (const auto& [from, to] :
       {std::pair(streams.in, 0), std::pair(streams.out, 1), std::pair(streams.err, 2)}) {
    if (from >= 0) {
      dup2(from, to);
    }
  }
  prepare();
  std::string program = RUN_JOB;
  std::vector<char*> list{program.data()};
  Words words = arguments;
  for (std::string& word : words) {
    list.push_back(word.data());
  }
  list.push_back(nullptr);
  execv(list[0], list.data());
  _exit(99);
}

}  // namespace

Ends open_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    throw std::runtime_error("pipe");
  }
  return {sys::Descriptor(ends[0]), sys::Descriptor(ends[1])};
}

std::string read_some(int fd, std::size_t bytes) {
  std::string text;
  std::array<char, 65536> chunk{};
  while (text.size() < bytes) {
    const ssize_t got = read(fd, chunk.data(), std::min(chunk.size(), bytes - text.size()));
    if (got <= 0) {
      break;
    }
    text.append(chunk.data(), static_cast<std::size_t>(got));
  }
  return text;
}

std::string read_all(int fd) { return read_some(fd, SIZE_MAX); }

std::string read_until(int fd, const std::string& word) {
  std::string text;
  char letter = 0;
  while (!text.ends_with(word) && read(fd, &letter, 1) == 1) {
    text += letter;
  }
  return text;
}

std::string temporary_path() {
  static int count = 0;
  return (std::filesystem::temp_directory_path() /
          ("chokepoint-job-" + std::to_string(getpid()) + "-" + std::to_string(++count)))
      .string();
}

std::string content_of(const std::string& path) {
  std::ifstream file(path);
  std::stringstream content;
  content << file.rdbuf();
  return content.str();
}

bool await(const std::function<bool()>& condition) {
  for (int i = 0; i < 1000; ++i) {
    if (condition()) {
      return true;
    }
    std::this_thread::sleep_for(10ms);
  }
  return false;
}

std::string status_field(pid_t pid, const std::string& name) {
  std::istringstream status(content_of("/proc/" + std::to_string(pid) + "/status"));
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(name + ":\t")) {
      return line.substr(name.size() + 2);
    }
  }
  return "";
}

Driver::Driver(const Words& arguments, const Streams& streams, const Prepare& prepare)
    : pid_(fork()) {
  if (pid_ == 0) {
    become_driver(arguments, streams, prepare);
  }
}

Driver::~Driver() {
  if (!code_) {
    kill(pid_, SIGKILL);
    wait();
  }
}

void Driver::signal(int number) const { kill(pid_, number); }

int Driver::wait() {
  int raw = 0;
  if (!code_ && waitpid(pid_, &raw, 0) == pid_) {
    code_ = code_of(raw);
  }
  return code_.value_or(-1);
}

Outcome run(const Words& arguments, const Prepare& prepare) {
  Ends out = open_pipe();
  Ends err = open_pipe();
  Driver driver(arguments, {.out = out.write.get(), .err = err.write.get()}, prepare);
  out.write.reset();
  err.write.reset();
  Outcome outcome;
  std::thread reader([&] { outcome.err = read_all(err.read.get()); });
  outcome.out = read_all(out.read.get());
  reader.join();
  outcome.code = driver.wait();
  return outcome;
}

Words shell(const std::string& script) { return {"--", "sh", "-c", script}; }

}  // namespace chokepoint::capture::job
