// An agent of a preflight, as `chokepoint serve` offers it: it sends the facts of its host and does
// one task after the other as a child process that runs this program again, and nothing else
// (preflight/task). agents.h draws the messages.
//
// One coordinator at a time. It takes no turn: the tests that it starts take turns at their peers,
// even where serve is --exclusive. When the coordinator disconnects or the server stops, running
// tasks are ended. One object for all sessions; serve() runs on a session's thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "base/control/service.h"
#include "base/host/network.h"
#include "base/host/settings.h"
#include "base/net/deadline.h"
#include "base/sys/clock.h"
#include "base/sys/error.h"
#include "base/sys/root.h"
#include "preflight/agent/jobs.h"
#include "preflight/task/host_facts.h"
#include "preflight/task/task.h"

namespace chokepoint::preflight {

// Admits one coordinator at a time to this host, because the tests of two would disturb each other.
// Any thread.
class CoordinatorLock {
 public:
  // Its destructor releases the lock.
  class Guard {
   public:
    explicit Guard(CoordinatorLock& lock) : lock_(&lock) {}
    Guard(Guard&& other) noexcept : lock_(std::exchange(other.lock_, nullptr)) {}
    Guard& operator=(Guard&&) = delete;
    ~Guard();

   private:
    CoordinatorLock* lock_;
  };

  struct Coordinator {
    std::string who = {};        // for people
    std::string preflight = {};  // what only those of one preflight have in common; may be empty
    std::string called = {};     // the address at which it called this host
  };

  // `deadline`: how long to wait, because its holder may be leaving just now.
  Result<Guard> take(const Coordinator& coordinator, std::chrono::milliseconds deadline);

 private:
  bool has(const std::string& preflight) const;

  std::mutex mutex_;
  std::condition_variable free_;
  std::optional<Coordinator> holder_;
};

inline constexpr std::string_view kPreflightKind = "preflight";

class PreflightService final : public control::Service {
 public:
  // What is started; tests have another one.
  explicit PreflightService(std::string program = "/proc/self/exe")
      : program_(std::move(program)) {}

  std::string_view kind() const override { return kPreflightKind; }
  Result<control::Demand> check(const control::Json& parameters,
                                const control::Limits& limits) const override;
  Result<control::Json> serve(control::Session& session, const control::Json& parameters) override;

 private:
  std::string program_;
  CoordinatorLock lock_;
  Names::LookupCount lookups_ = std::make_shared<std::atomic<std::size_t>>(0);
};

// The protocol between an agent and its coordinator, from Ready to Result (drawn in
// preflight/agents/agents.h). One thread.
class Conversation {
 public:
  Conversation(control::Session& session, std::string program, Names::LookupCount lookups)
      : session_(session), program_(std::move(program)), lookups_(std::move(lookups)) {}

  // The body of the Result, once the coordinator sends Stop.
  Result<control::Json> hold(const HostFacts& facts, const host::Settings& settings);

 private:
  using Number = std::uint32_t;

  // Until there may be news, or it is time to look anyhow.
  Result<> wait() const;
  // Handles some of the messages that have arrived. True once the coordinator has sent Stop.
  Result<bool> receive();
  Result<> receive(const control::Message& message);
  Result<> begin(const control::Json& body);
  Result<std::unique_ptr<Job>> start(const Task& task) const;
  Result<> look();
  Result<> report(Number number, const Result<control::Json>& result);
  Result<> send(const control::Message& message);

  control::Session& session_;
  std::string program_;
  Names::LookupCount lookups_;
  std::unique_ptr<Job> job_;
  Number number_ = 0;
  net::Deadline::Clock::time_point idle_since_ = net::Deadline::Clock::now();
};

// The hardware and settings of this host that the judgement compares measurements with. Reads below
// the given root, and asks the running kernel if that root is live.
HostFacts read_facts(const sys::Root& root);
// With interfaces that were read before.
HostFacts facts_of(const sys::Root& root, const host::Network& network);

// What the time of day is ahead of the monotonic clock.
double wall_less_monotonic_ms(const sys::Clock& clock);

// Of the hardware; nothing where a driver makes a speed up, as virtio's and veth's do.
std::optional<double> real_speed_mbps(const host::Network& network, const host::Nic& nic);

}  // namespace chokepoint::preflight
