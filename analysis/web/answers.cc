#include "analysis/web/answers.h"

#include <algorithm>
#include <utility>

#include "base/sys/thread.h"

namespace chokepoint::analysis::web {

Result<std::unique_ptr<Answers>> Answers::start(Ask ask) {
  std::unique_ptr<Answers> answers(new Answers(std::move(ask)));
  for (std::size_t at = 0; at < kThreads; ++at) {
    TRY(std::thread thread,
        sys::start_thread("answers", [answers = answers.get()] { answers->work(); }));
    answers->threads_.push_back(std::move(thread));
  }
  return answers;
}

Answers::~Answers() {
  {
    const std::scoped_lock lock(mutex_);
    has_ended_ = true;
  }
  news_.notify_all();
  std::ranges::for_each(threads_, &std::thread::join);
}

void Answers::give(const Question& question, Reply reply) {
  // What takes long is asked for less often.
  constexpr int kShareOfTime = 10;
  std::optional<Answer> ready;
  {
    const std::scoped_lock lock(mutex_);
    Known& known = known_[question.words];
    const auto age = Clock::now() - known.made;
    const auto fresh = std::max(question.fresh, kShareOfTime * known.took);
    const bool is_fresh = known.answer && !known.answer->has_failed && age <= fresh;
    const bool is_usable = is_fresh || (known.answer && !known.answer->has_failed &&
                                        age <= std::max(question.usable, fresh));
    if (is_usable) {
      ready = known.answer;
    }
    if (!is_fresh && !known.is_asked && waiting_.size() < kMaxWaiting) {
      known.is_asked = true;
      waiting_.push_back(question.words);
      news_.notify_one();
    }
    if (!ready && known.is_asked && known.waiting.size() < kMaxWaiting) {
      known.waiting.push_back(std::move(reply));
      return;
    }
    if (!known.answer && !known.is_asked) {
      known_.erase(question.words);
    }
  }
  reply(ready ? *ready
              : Answer{.has_failed = true,
                       .text = std::make_shared<std::string>(
                           "too much is asked for at once: try again later")});
}

void Answers::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    news_.wait(lock, [this] { return has_ended_ || !waiting_.empty(); });
    if (has_ended_) {
      return;
    }
    const std::vector<std::string> words = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    const auto began = Clock::now();
    mcp::CallOutcome outcome = ask_(words);
    const Answer answer{.has_failed = outcome.has_failed,
                        .text = std::make_shared<const std::string>(std::move(outcome.out))};
    const auto now = Clock::now();
    lock.lock();
    Known& known = known_[words];
    known.answer = answer;
    known.made = now;
    known.took = std::chrono::duration_cast<std::chrono::milliseconds>(now - began);
    known.is_asked = false;
    const std::vector<Reply> replies = std::exchange(known.waiting, {});
    keep_bounded();
    lock.unlock();
    for (const Reply& reply : replies) {
      reply(answer);
    }
    lock.lock();
  }
}

// The oldest go; those that are being asked for stay.
void Answers::keep_bounded() {
  const auto bytes = [this] {
    std::size_t all = 0;
    for (const auto& [words, known] : known_) {
      all += known.answer ? known.answer->text->size() : 0;
    }
    return all;
  };
  while (known_.size() > kMaxKept || bytes() > kMaxKeptBytes) {
    const auto oldest = std::ranges::min_element(known_, {}, [](const auto& each) {
      return std::pair(each.second.is_asked, each.second.made);
    });
    if (oldest->second.is_asked) {
      return;
    }
    known_.erase(oldest);
  }
}

}  // namespace chokepoint::analysis::web
