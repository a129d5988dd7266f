// A server of HTTP that takes one request after the other, each on a connection of its own, and
// answers with given bytes, whatever is asked. Its thread ends with the last answer.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>

#include <array>
#include <chrono>
#include <span>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "base/net/socket.h"

namespace chokepoint::fakes {

class HttpServer {
 public:
  // `reads_all`: else it answers when a request has begun, and closes with the rest unread.
  explicit HttpServer(std::vector<std::string> answers, bool reads_all = true)
      : answers_(std::move(answers)), reads_all_(reads_all) {
    auto listener = net::listen({*net::Address::parse("127.0.0.1"), 0}, 8, {});
    EXPECT_TRUE(listener);
    listener_ = std::move(*listener);
    port_ = net::local_endpoint(listener_.get())->port;
    thread_ = std::thread([this] {
      for (const std::string& answer : answers_) {
        serve(answer);
      }
    });
  }
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  ~HttpServer() { wait(); }

  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  // Until all answers were given, or nobody asked for one.
  void wait() {
    if (thread_.joinable()) {
      thread_.join();
    }
  }
  // After wait().
  const std::vector<std::string>& requests() const { return requests_; }

 private:
  static constexpr std::chrono::seconds kWait{10};

  void serve(const std::string& answer) {
    const net::Deadline deadline = net::Deadline::of(kWait);
    if (!net::wait_for(listener_.get(), POLLIN, deadline, "", "")) {
      return;
    }
    const auto client = net::accept(listener_.get());
    if (!client || !*client) {
      return;
    }
    std::string& request = requests_.emplace_back();
    while (reads_all_ ? !is_whole(request) : request.empty()) {
      std::array<std::byte, 4096> piece{};
      const auto got = net::receive_some((*client)->get(), piece, deadline, "");
      if (!got || *got == 0) {
        return;
      }
      request.append(reinterpret_cast<const char*>(piece.data()), *got);
    }
    std::ignore = net::send_all((*client)->get(), std::as_bytes(std::span(answer)), deadline, "");
  }

  static bool is_whole(const std::string& request) {
    const std::string kLength = "Content-Length: ";
    const std::size_t end = request.find("\r\n\r\n");
    const std::size_t length = request.find(kLength);
    const std::size_t body =
        length == std::string::npos ? 0 : std::stoul(request.substr(length + kLength.size()));
    return end != std::string::npos && request.size() >= end + 4 + body;
  }

  std::vector<std::string> answers_;
  bool reads_all_;
  sys::Descriptor listener_;
  std::uint16_t port_ = 0;
  std::vector<std::string> requests_;
  std::thread thread_;
};

}  // namespace chokepoint::fakes
