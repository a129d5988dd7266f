#include "analysis/mcp/stream.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <future>

#include "base/sys/descriptor.h"
#include "base/sys/signals.h"

namespace chokepoint::analysis::mcp {
namespace {

constexpr const char* kPing = R"({"jsonrpc":"2.0","id":1,"method":"ping"})";
constexpr const char* kPong = R"({"jsonrpc":"2.0","id":1,"result":{}})";

class McpStream : public testing::Test {
 protected:
  static sys::Pipe pipe() { return *sys::open_pipe("test", "pipe"); }

  static void put(const sys::Descriptor& into, std::string_view text) {
    ASSERT_EQ(::write(into.get(), text.data(), text.size()), std::ssize(text));
  }

  std::string received() {
    out_.write.reset();
    std::string text;
    char piece[4096];
    for (ssize_t got = 0; (got = ::read(out_.read.get(), piece, sizeof piece)) > 0;) {
      text.append(piece, static_cast<std::size_t>(got));
    }
    return text;
  }

  Result<ServedUntil> served() {
    return serve(in_.read.get(), out_.write.get(), stop_.read.get(), server_);
  }

  sys::Pipe in_ = pipe();
  sys::Pipe out_ = pipe();
  sys::Pipe stop_ = pipe();
  Server server_{"1", {}, [](const auto&) { return CallOutcome{}; }};
};

TEST_F(McpStream, AnswersEachLineUntilTheInputEnds) {
  put(in_.write, std::string(kPing) + "\nnonsense\n" + kPing);
  in_.write.reset();
  EXPECT_EQ(served(), ServedUntil::InputEnded);
  const std::string text = received();
  EXPECT_TRUE(text.starts_with(std::string(kPong) + "\n{\"jsonrpc\":\"2.0\",\"id\":null,"));
  EXPECT_TRUE(text.ends_with("}\n" + std::string(kPong) + "\n"))
      << "the last message needs no line end";
}

TEST_F(McpStream, NothingIsAnsweredToNothing) {
  in_.write.reset();
  EXPECT_EQ(served(), ServedUntil::InputEnded);
  EXPECT_EQ(received(), "");
}

TEST_F(McpStream, AClientThatIsGoneEndsIt) {
  sys::hold_broken_pipe();
  out_.read.reset();
  put(in_.write, std::string(kPing) + "\n");
  EXPECT_EQ(served(), ServedUntil::OutputClosed);
}

TEST_F(McpStream, AnInterruptEndsItWhileNothingComes) {
  put(stop_.write, "x");
  EXPECT_EQ(served(), ServedUntil::Interrupted);
}

// More than a pipe takes: the client reads none of it.
TEST_F(McpStream, AnInterruptEndsItWhileNothingIsTaken) {
  const std::string id(1 << 20, 'x');
  std::future<Result<ServedUntil>> ended = std::async(std::launch::async, [&] { return served(); });
  put(in_.write, R"({"jsonrpc":"2.0","id":")" + id + R"(","method":"ping"})" + "\n");
  EXPECT_EQ(ended.wait_for(std::chrono::milliseconds(100)), std::future_status::timeout);
  put(stop_.write, "x");
  EXPECT_EQ(ended.get(), ServedUntil::Interrupted);
}

TEST_F(McpStream, ALongAnswerComesWhole) {
  const std::string id(1 << 20, 'x');
  std::future<std::string> text = std::async(std::launch::async, [&] {
    std::string all;
    char piece[4096];
    for (ssize_t got = 0; (got = ::read(out_.read.get(), piece, sizeof piece)) > 0;) {
      all.append(piece, static_cast<std::size_t>(got));
    }
    return all;
  });
  std::future<Result<ServedUntil>> ended = std::async(std::launch::async, [&] {
    const Result<ServedUntil> until = served();
    out_.write.reset();
    return until;
  });
  put(in_.write, R"({"jsonrpc":"2.0","id":")" + id + R"(","method":"ping"})" + "\n");
  in_.write.reset();
  EXPECT_EQ(ended.get(), ServedUntil::InputEnded);
  EXPECT_EQ(text.get(), R"({"jsonrpc":"2.0","id":")" + id + "\",\"result\":{}}\n");
}

}  // namespace
}  // namespace chokepoint::analysis::mcp
