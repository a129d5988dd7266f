// Answers to questions that take a while, each found by a call of this program in a child process:
//
//   give(question) ── known and new enough ────────────────────────────► reply
//          │  known and usable ──► reply, and asked again ─┐
//          └─ else ────────────────────────────────────────┴─► queue ─► a thread ─► reply
//
// Whoever asks the same meanwhile gets the same answer. Threads, queue and what is kept are
// bounded. give() never waits; any thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "analysis/mcp/server.h"
#include "base/sys/error.h"

namespace chokepoint::analysis::web {

struct Question {
  std::vector<std::string> words = {};    // of the command
  std::chrono::milliseconds fresh = {};   // an answer so old is as good as new
  std::chrono::milliseconds usable = {};  // one so old is given while a new one is looked for
};

struct Answer {
  bool has_failed = false;
  std::shared_ptr<const std::string> text = {};  // of one that failed, why
};

class Answers {
 public:
  using Ask = mcp::Call;
  using Reply = std::function<void(const Answer&)>;  // by any thread; must neither throw nor wait

  static constexpr std::size_t kThreads = 3;
  static constexpr std::size_t kMaxWaiting = 32;  // questions that no thread has taken yet
  static constexpr std::size_t kMaxKept = 64;     // answers
  static constexpr std::size_t kMaxKeptBytes = std::size_t{64} << 20;

  // `ask` is called by several threads at once.
  static Result<std::unique_ptr<Answers>> start(Ask ask);
  Answers(const Answers&) = delete;
  Answers& operator=(const Answers&) = delete;
  // Once `ask` returns; who still waits gets no reply.
  ~Answers();

  void give(const Question& question, Reply reply);

 private:
  using Clock = std::chrono::steady_clock;

  struct Known {
    std::optional<Answer> answer = {};
    Clock::time_point made = {};
    std::chrono::milliseconds took = {};
    bool is_asked = false;
    std::vector<Reply> waiting = {};
  };

  explicit Answers(Ask ask) : ask_(std::move(ask)) {}
  void work();
  void keep_bounded();

  Ask ask_;
  std::mutex mutex_;  // all below
  std::condition_variable news_;
  std::map<std::vector<std::string>, Known> known_;
  std::deque<std::vector<std::string>> waiting_;
  bool has_ended_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace chokepoint::analysis::web
