// One connection to a simulated agent, as steps without I/O: bytes in, bytes out, and when. One
// thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/control/handshake.h"
#include "base/control/message.h"
#include "preflight/task/measured.h"
#include "preflight/task/task.h"
#include "tests/preflight/crowd/hostile.h"
#include "tests/preflight/crowd/network.h"

namespace chokepoint::preflight::crowd {

class Guest {
 public:
  using Clock = std::chrono::steady_clock;
  struct Setting {
    const Network& network;
    std::optional<control::Secret> key = {};
    double time_factor = 0;  // of the time that a task asks for
  };

  Guest(const Setting& setting, HostIndex host, Behaviour behaviour);

  // Said without being asked: by those who are not what they should be.
  std::string greeting();
  std::span<std::byte> wanted() { return reader_.wanted(); }
  std::string took(std::size_t count);
  // When tick() is to be called; nothing where there is nothing to do.
  std::optional<Clock::time_point> due() const { return due_; }
  std::string tick(int together);
  // Flows between switches that it has under way.
  bool is_crossing() const;

  bool is_over() const { return is_over_; }  // closes once all is sent
  bool reads() const { return reads_; }      // else nothing is taken from its socket
  bool is_slow() const { return behaviour_ == Behaviour::ByteByByte; }

 private:
  std::string hear(const control::Message& message);
  // Sealed once there are keys.
  std::string frame(control::Type type, std::string_view body);
  std::string encode(const control::Message& message);
  std::string report(std::uint32_t number, std::string_view rest);
  std::string welcome(const control::Message& hello);
  std::string admit();
  std::string request();
  std::string begin(const control::Message& message);
  std::string give_up(const control::Message& note);
  std::string answer_wrongly(std::uint32_t number);
  std::string right_answer(std::uint32_t number, int together);
  std::string leave(std::string last_words);

  const Setting& setting_;
  HostIndex host_;
  Behaviour behaviour_;
  control::ServerHandshake handshake_;
  control::FrameReader reader_{control::kMaxFromClient};
  std::optional<control::Seal> outgoing_;
  int heard_ = 0;
  bool is_over_ = false;
  bool reads_ = true;
  std::optional<Clock::time_point> due_;
  std::optional<std::uint32_t> number_;
  Task task_ = {};
};

}  // namespace chokepoint::preflight::crowd
