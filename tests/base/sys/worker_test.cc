// What happens to a worker reaches the process that made it as a message or as an end, never as a
// wait without one.
#include "base/sys/worker.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <new>
#include <stdexcept>
#include <thread>

#include "base/sys/root.h"

namespace chokepoint::sys {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

enum class TestMessage : std::int32_t { Ask, Answer };

constexpr WorkerWords kWords{.operation = "test",
                             .who = "the worker",
                             .gone_step = "look for it",
                             .late = "takes too long",
                             .late_step = "wait longer",
                             .interrupted = "interrupted"};

Worker::Clock::time_point soon(std::chrono::milliseconds time = 20s) {
  return Worker::Clock::now() + time;
}

// Ended with its test, whatever it does.
class WorkerTest : public testing::Test {
 protected:
  void TearDown() override {
    if (worker_) {
      worker_->kill();
    }
  }
  Worker& forked(const Worker::Work& work, WorkerOptions options = {}) {
    options.words = kWords;
    auto worker = Worker::fork(options, work);
    EXPECT_TRUE(worker);
    return worker_.emplace(std::move(*worker));
  }

  std::optional<Worker> worker_;
};

void open_and_answer(MessageSocket& parent) {
  parent.send(WorkerMessage::Opened, "ready", 1s);
  while (!parent.is_gone()) {
    if (const auto asked = parent.receive()) {
      parent.send(TestMessage::Answer, asked->bytes, 1s);
    }
    std::this_thread::sleep_for(1ms);
  }
}

TEST_F(WorkerTest, OpensAndAnswers) {
  Worker& worker = forked(open_and_answer);
  EXPECT_EQ(*worker.opened(soon()), "ready");
  ASSERT_TRUE(worker.socket().send(TestMessage::Ask, "what", 1s));
  const auto answer = worker.receive_by(soon());
  ASSERT_TRUE(answer) << describe(answer.error());
  EXPECT_EQ(answer->kind<TestMessage>(), TestMessage::Answer);
  EXPECT_EQ(answer->bytes, "what");
}

TEST_F(WorkerTest, WhatItSaysBeforeItIsOpenIsHandedOver) {
  Worker& worker = forked([](MessageSocket& parent) {
    parent.send(TestMessage::Answer, "first", 1s);
    parent.send(WorkerMessage::Opened, "", 1s);
  });
  std::string said;
  EXPECT_TRUE(worker.opened(soon(), [&](const ReceivedMessage& each) { said += each.bytes; }));
  EXPECT_EQ(said, "first");
}

TEST_F(WorkerTest, ItsErrorArrivesAsItIs) {
  Worker& worker = forked([](MessageSocket& parent) {
    parent.send(WorkerMessage::Failed,
                packed_error({ErrorKind::Permission, "open", "eth0", EPERM, "not allowed", "ask"}),
                1s);
  });
  const auto opened = worker.opened(soon());
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().kind, ErrorKind::Permission);
  EXPECT_EQ(describe(opened.error()), "open: eth0: not allowed; ask");
}

TEST_F(WorkerTest, AnExceptionOfAnyThreadIsAnError) {
  Worker& worker = forked([](MessageSocket& parent) {
    parent.send(WorkerMessage::Opened, "", 1s);
    std::thread([] { throw std::runtime_error("no such day"); }).join();
  });
  ASSERT_TRUE(worker.opened(soon()));
  const auto received = worker.receive_by(soon());
  ASSERT_FALSE(received);
  EXPECT_THAT(describe(received.error()), HasSubstr("the worker has ended: no such day"));
}

TEST_F(WorkerTest, TooLittleMemoryIsAnError) {
  Worker& worker = forked([](MessageSocket&) { throw std::bad_alloc(); });
  const auto opened = worker.opened(soon());
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().kind, ErrorKind::Exhausted);
  EXPECT_THAT(describe(opened.error()), HasSubstr("the worker ran out of memory"));
}

TEST_F(WorkerTest, OneThatIsKilledIsNoticed) {
  Worker& worker = forked(open_and_answer);
  ASSERT_TRUE(worker.opened(soon()));
  kill(worker.pid(), SIGKILL);
  const auto received = worker.receive_by(soon());
  ASSERT_FALSE(received);
  EXPECT_EQ(describe(received.error()), "test: the worker has ended; look for it");
  EXPECT_EQ(worker.socket().descriptor(), -1);
  EXPECT_FALSE(worker.socket().send(TestMessage::Ask, "", 1s));
}

TEST_F(WorkerTest, OneThatIsStoppedIsNotWaitedFor) {
  Worker& worker = forked(open_and_answer);
  ASSERT_TRUE(worker.opened(soon()));
  kill(worker.pid(), SIGSTOP);
  const auto received = worker.receive_by(soon(20ms));
  ASSERT_FALSE(received);
  EXPECT_EQ(received.error().kind, ErrorKind::Timeout);
  while (worker.socket().send(TestMessage::Ask, std::string(10'000, 'x'), 0ms)) {
  }
}

TEST_F(WorkerTest, AnInterruptionEndsTheWait) {
  Worker& worker = forked(open_and_answer);
  ASSERT_TRUE(worker.opened(soon()));
  auto interrupt = *open_pipe("test", "");
  interrupt.write.reset();
  const auto received = worker.receive_by(soon(), interrupt.read.get());
  ASSERT_FALSE(received);
  EXPECT_EQ(received.error().kind, ErrorKind::Interrupted);
}

TEST_F(WorkerTest, EndsOnceItsSocketIsClosed) {
  Worker& worker = forked(open_and_answer);
  ASSERT_TRUE(worker.opened(soon()));
  worker.socket().close();
  int status = -1;
  EXPECT_EQ(waitpid(worker.pid(), &status, 0), worker.pid());
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  worker_.reset();
}

// Which numbers are open, as "0 1 2 3 …"; that of the folder that is read among them.
std::string open_numbers() {
  std::vector<int> numbers;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    numbers.push_back(std::stoi(entry.path().filename()));
  }
  std::ranges::sort(numbers);
  std::string text;
  for (const int number : numbers) {
    text += std::to_string(number) + " ";
  }
  return text;
}

TEST_F(WorkerTest, HasNoDescriptorButThoseItIsGiven) {
  const auto other = *open_pipe("test", "");
  Worker& worker =
      forked([](MessageSocket& parent) { parent.send(WorkerMessage::Opened, open_numbers(), 1s); });
  EXPECT_EQ(*worker.opened(soon()), "0 1 2 3 4 ");
}

TEST_F(WorkerTest, KeepsWhatItIsGivenUnderTheSameNumber) {
  auto given = *open_pipe("test", "");
  const int number = given.write.get();
  Worker& worker = forked(
      [number](MessageSocket& parent) {
        const bool is_written = write(number, "x", 1) == 1;
        parent.send(WorkerMessage::Opened, is_written ? open_numbers() : "not written", 1s);
      },
      {.descriptors = {number}});
  EXPECT_THAT(*worker.opened(soon()), HasSubstr(" " + std::to_string(number) + " "));
  given.write.reset();
  char byte = 0;
  EXPECT_EQ(read(given.read.get(), &byte, 1), 1);
  EXPECT_EQ(byte, 'x');
}

TEST_F(WorkerTest, HasItsNameItsSessionAndNoSignals) {
  Worker& worker = forked(
      [](MessageSocket& parent) {
        sigset_t blocked;
        pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
        const std::string comm = Root().text("/proc/self/comm").value_or("");
        parent.send(WorkerMessage::Opened,
                    comm + (getsid(0) == getpid() ? " leads" : " follows") +
                        (sigismember(&blocked, SIGTERM) == 1 ? " blocked " : " open ") +
                        std::filesystem::current_path().string(),
                    1s);
      },
      {.name = "test-worker", .keeps_folder = false});
  EXPECT_EQ(*worker.opened(soon()), "test-worker leads blocked /");
}

TEST_F(WorkerTest, AnotherProgramHasTheSocketAsItsInput) {
  auto worker = Worker::start({"sh", "-c", "exit 0"}, kWords, "eth0");
  ASSERT_TRUE(worker);
  worker_.emplace(std::move(*worker));
  const auto opened = worker_->opened(soon());
  ASSERT_FALSE(opened);
  EXPECT_EQ(describe(opened.error()), "test: eth0: the worker has ended; look for it");
  EXPECT_FALSE(Worker::start({"/there/is/no/such/program"}, kWords, ""));
}

}  // namespace
}  // namespace chokepoint::sys
