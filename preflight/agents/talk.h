// What is said on the connection to one agent, as steps without I/O: its bytes in; bytes to send,
// events and the reason why it ends out. Believes nothing of what it hears. One thread.
//
//   Greeting ─ Welcome ─► Proving ─ Admitted ─► Requesting ─ Ready ─► Idle ◄─ Report ─ Working
//                                                                     └─── begin() ────►
#pragma once

#include <cstddef>
#include <expected>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/control/handshake.h"
#include "base/control/message.h"
#include "preflight/agents/agents.h"
#include "preflight/agents/options.h"

namespace chokepoint::preflight {

// Why a talk is over, and what that makes of the host.
struct Ending {
  Presence presence = Presence::Lost;
  Error error = {};
};

class Talk {
 public:
  enum class Stage : std::uint8_t { Greeting, Proving, Requesting, Idle, Working };
  struct Step {
    bool heard = false;  // a whole message
    std::string say = {};
    std::optional<Event> event = {};
  };

  // `address` is where the agent was reached, `peer` how errors call it. The options outlive this.
  Talk(const CrewOptions& options, HostIndex host, std::string address, std::string peer);

  Stage stage() const { return stage_; }
  const std::string& peer() const { return peer_; }

  std::string hello();
  // Where its next bytes go; never empty. Then how many of them came.
  std::span<std::byte> wanted() { return reader_.wanted(); }
  std::expected<Step, Ending> took(std::size_t count);

  // The bytes that say so. Only where it is idle.
  std::string begin(TaskNumber number, const Task& task);
  // Only of the task at hand; none otherwise.
  std::string give_up(TaskNumber number);
  std::optional<TaskNumber> task() const { return task_; }

  // It was silent for too long; it has closed the connection; the connection failed.
  Ending silent() const;
  Ending closed() const;
  Ending failed(Error error) const;

 private:
  std::expected<Step, Ending> hear(control::Message message);
  std::expected<Step, Ending> welcomed(const control::Message& message);
  std::expected<Step, Ending> admitted(const control::Message& message);
  std::expected<Step, Ending> ready(const control::Message& message);
  std::expected<Step, Ending> report(control::Message message);
  Ending of_handshake(Error error) const;
  Ending refused(const control::Json& body) const;
  Ending strange(std::string reason) const;
  bool was_given_up(TaskNumber number);

  const CrewOptions& options_;
  HostIndex host_;
  std::string address_;
  std::string peer_;
  Stage stage_ = Stage::Greeting;
  std::unique_ptr<control::ClientHandshake> handshake_;  // until it is over
  std::string program_;                                  // until it is told
  std::optional<Error> waits_for_;                       // what the server lets us queue for
  control::FrameReader reader_{control::kMostFromStranger};
  std::optional<TaskNumber> task_;
  std::vector<TaskNumber> given_up_;  // and not answered yet; a few
};

}  // namespace chokepoint::preflight
