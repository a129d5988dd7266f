#include "tests/probe/peer/stock_program.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <thread>

namespace chokepoint::peers {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

sys::Process started(const std::vector<std::string>& command, int output) {
  Result<sys::Process> process =
      sys::Process::start({.command = command, .out = output, .err = output});
  if (!process) {
    ADD_FAILURE() << describe(process.error());
    std::abort();
  }
  return std::move(*process);
}

std::string content(int fd) {
  std::string text;
  std::array<char, 4096> buffer{};
  for (ssize_t got = 0;
       (got = pread(fd, buffer.data(), buffer.size(), static_cast<off_t>(text.size()))) > 0;) {
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  return text;
}

// Looks without a connection, which a server for one client would take for its client.
bool listens(std::uint16_t port) {
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    FILE* file = fopen(table, "r");
    std::array<char, 512> line{};
    std::array<char, 16> wanted{};
    snprintf(wanted.data(), wanted.size(), ":%04X ", port);
    bool found = false;
    while (file != nullptr && fgets(line.data(), line.size(), file) != nullptr) {
      const std::string text = line.data();
      found = found || (text.find(wanted.data()) < 48 && text.find(" 0A ") != std::string::npos);
    }
    if (file != nullptr) {
      fclose(file);
    }
    if (found) {
      return true;
    }
  }
  return false;
}

}  // namespace

std::string missing(const std::string& program) {
  for (const char* folder : {"/usr/bin/", "/usr/local/bin/", "/bin/"}) {
    if (std::filesystem::exists(folder + program)) {
      return "";
    }
  }
  return program + " is not installed";
}

StockProgram::StockProgram(const std::vector<std::string>& command)
    : output_(memfd_create("output", MFD_CLOEXEC)), process_(started(command, output_.get())) {}

StockProgram::~StockProgram() {
  if (!ended_) {
    static_cast<void>(process_.signal(SIGKILL));
    static_cast<void>(process_.wait());
  }
}

std::string StockProgram::output() {
  const auto until = steady_clock::now() + seconds(40);
  while (!ended_ && steady_clock::now() < until) {
    const Result<std::optional<sys::ExitStatus>> status = process_.poll();
    ended_ = !status || status->has_value();
    std::this_thread::sleep_for(milliseconds(5));
  }
  EXPECT_TRUE(ended_) << "it does not come to an end";
  return content(output_.get());
}

void await_listener(std::uint16_t port) {
  const auto until = steady_clock::now() + seconds(10);
  while (!listens(port)) {
    ASSERT_LT(steady_clock::now(), until) << "nothing listens on port " << port;
    std::this_thread::sleep_for(milliseconds(10));
  }
}

net::Endpoint loopback(std::uint16_t port) { return {*net::Address::parse("127.0.0.1"), port}; }

}  // namespace chokepoint::peers
