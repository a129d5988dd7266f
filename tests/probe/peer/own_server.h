// A server of this program's on a foreign protocol's port, on a thread, until the test is over.
#pragma once

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/net/socket.h"
#include "base/sys/descriptor.h"
#include "tests/probe/peer/stock_program.h"

namespace chokepoint::peers {

class OwnServer {
 public:
  using Log = std::function<void(const std::string& line)>;
  using Serve = std::function<Result<>(std::vector<sys::Descriptor> listeners, Log log, int stop)>;

  // On any free port where none is given.
  OwnServer(std::uint16_t port, const Serve& serve) : stop_(eventfd(0, EFD_CLOEXEC)) {
    Result<sys::Descriptor> listener = net::listen(loopback(port), 16, {});
    EXPECT_TRUE(listener) << describe(listener.error());
    at_ = *net::local_endpoint(listener->get());
    listeners_.push_back(std::move(*listener));
    thread_ = std::thread([this, serve] {
      const Result<> done = serve(
          std::move(listeners_), [this](const std::string& line) { note(line); }, stop_.get());
      EXPECT_TRUE(done);
    });
  }
  OwnServer(const OwnServer&) = delete;
  OwnServer& operator=(const OwnServer&) = delete;
  ~OwnServer() {
    const std::uint64_t one = 1;
    EXPECT_EQ(write(stop_.get(), &one, sizeof(one)), static_cast<ssize_t>(sizeof(one)));
    thread_.join();
  }

  const net::Endpoint& at() const { return at_; }
  std::string log() {
    const std::lock_guard lock(mutex_);
    return log_;
  }

 private:
  void note(const std::string& line) {
    const std::lock_guard lock(mutex_);
    log_ += line + "\n";
  }

  sys::Descriptor stop_;
  net::Endpoint at_;
  std::vector<sys::Descriptor> listeners_;
  std::mutex mutex_;
  std::string log_;
  std::thread thread_;
};

}  // namespace chokepoint::peers
