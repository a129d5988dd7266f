#include "analysis/web/answers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <semaphore>

namespace chokepoint::analysis::web {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kPatience{10};

Question about(const std::string& word, milliseconds fresh = hours(1)) {
  return {.words = {word}, .fresh = fresh, .usable = std::max<milliseconds>(fresh, hours(1))};
}

// What is still waited for, when it comes.
std::future<Answer> asked(Answers& answers, const Question& question) {
  auto promise = std::make_shared<std::promise<Answer>>();
  std::future<Answer> answer = promise->get_future();
  answers.give(question, [promise](const Answer& given) { promise->set_value(given); });
  return answer;
}

std::string text_of(std::future<Answer> answer) {
  return answer.wait_for(kPatience) == std::future_status::ready ? *answer.get().text : "nothing";
}

TEST(Answers, AreKeptAsLongAsTheyAreFresh) {
  std::atomic<int> calls = 0;
  const auto answers = *Answers::start([&](const auto& words) {
    return mcp::CallOutcome{.out = words.front() + std::to_string(++calls)};
  });
  EXPECT_EQ(text_of(asked(*answers, about("a"))), "a1");
  EXPECT_EQ(text_of(asked(*answers, about("a"))), "a1");
  EXPECT_EQ(text_of(asked(*answers, about("b"))), "b2");
}

TEST(Answers, AnOldOneIsGivenWhileANewOneIsLookedFor) {
  std::atomic<int> calls = 0;
  const auto answers = *Answers::start(
      [&](const auto&) { return mcp::CallOutcome{.out = std::to_string(++calls)}; });
  EXPECT_EQ(text_of(asked(*answers, about("a", milliseconds(0)))), "1");
  const auto until = std::chrono::steady_clock::now() + kPatience;
  std::string text = "1";
  while (text == "1" && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(milliseconds(5));
    text = text_of(asked(*answers, about("a", milliseconds(0))));
  }
  EXPECT_NE(text, "1");
}

TEST(Answers, OneCallIsForAllWhoAskTheSame) {
  std::counting_semaphore<> go(0);
  std::atomic<int> calls = 0;
  const auto answers = *Answers::start([&](const auto&) {
    ++calls;
    go.acquire();
    return mcp::CallOutcome{.out = "same"};
  });
  auto first = asked(*answers, about("a"));
  auto second = asked(*answers, about("a"));
  go.release();
  EXPECT_EQ(text_of(std::move(first)), "same");
  EXPECT_EQ(text_of(std::move(second)), "same");
  EXPECT_EQ(calls, 1);
}

TEST(Answers, AFailureIsNotKept) {
  std::atomic<int> calls = 0;
  const auto answers = *Answers::start(
      [&](const auto&) { return mcp::CallOutcome{.has_failed = ++calls == 1, .out = "call"}; });
  EXPECT_TRUE(asked(*answers, about("a")).get().has_failed);
  EXPECT_FALSE(asked(*answers, about("a")).get().has_failed);
}

TEST(Answers, TooManyQuestionsAreRefused) {
  std::counting_semaphore<> go(0);
  auto answers = *Answers::start([&](const auto&) {
    go.acquire();
    return mcp::CallOutcome{};
  });
  std::atomic<std::size_t> refused = 0;
  constexpr std::size_t kAsked = 200;
  for (std::size_t at = 0; at < kAsked; ++at) {
    answers->give(about(std::to_string(at)),
                  [&](const Answer& answer) { refused += answer.has_failed ? 1 : 0; });
  }
  EXPECT_GE(refused, kAsked - Answers::kMaxWaiting - Answers::kThreads);
  go.release(kAsked);
  answers.reset();
}

}  // namespace
}  // namespace chokepoint::analysis::web
