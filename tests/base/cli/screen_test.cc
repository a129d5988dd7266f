#include "base/cli/screen.h"

#include <gmock/gmock.h>
#include <pty.h>
#include <stdlib.h>
#include <sys/ioctl.h>

#include <array>

#include "base/sys/descriptor.h"

namespace chokepoint::cli {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

// A terminal of 80 x 24, and what a person sees and types at it.
class Terminal24 : public testing::Test {
 protected:
  Terminal24() {
    int person = -1;
    int program = -1;
    std::array<char, 128> name{};
    winsize size{};
    size.ws_col = 80;
    size.ws_row = 24;
    EXPECT_EQ(openpty(&person, &program, name.data(), nullptr, &size), 0);
    person_.reset(person);
    program_.reset(program);
    name_ = name.data();
  }

  std::string seen() const {
    std::string text;
    std::array<char, 4096> bytes{};
    while (sys::is_readable(person_.get())) {
      const ssize_t count = read(person_.get(), bytes.data(), bytes.size());
      if (count <= 0) {
        break;
      }
      text.append(bytes.data(), static_cast<std::size_t>(count));
    }
    return text;
  }
  void type(std::string_view text) const {
    EXPECT_EQ(write(person_.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  termios state() const {
    termios state{};
    tcgetattr(program_.get(), &state);
    return state;
  }

  sys::Descriptor person_;
  sys::Descriptor program_;
  std::string name_;
};

TEST_F(Terminal24, IsAsBeforeOnceTheScreenHasGone) {
  const termios before = state();
  {
    const auto screen = Screen::take(name_.c_str());
    ASSERT_TRUE(screen) << describe(screen.error());
    EXPECT_EQ(state().c_lflag & ICANON, 0U);
    EXPECT_EQ(state().c_lflag & ECHO, 0U);
    EXPECT_NE(state().c_lflag & ISIG, 0U) << "Ctrl-C stays a signal";
    EXPECT_THAT(seen(), StartsWith("\033[?1049h"));
  }
  EXPECT_EQ(state().c_lflag, before.c_lflag);
  EXPECT_THAT(seen(), EndsWith("\033[?1049l"));
}

TEST_F(Terminal24, KeysComeAsTheyAreTyped) {
  const auto screen = Screen::take(name_.c_str());
  ASSERT_TRUE(screen);
  EXPECT_EQ(screen->keys(), "");
  type("q");
  EXPECT_TRUE(sys::is_readable(screen->descriptor()));
  EXPECT_EQ(screen->keys(), "q");
}

TEST_F(Terminal24, DrawsFromTheTopAndClearsTheRest) {
  const auto screen = Screen::take(name_.c_str());
  ASSERT_TRUE(screen);
  seen();
  screen->draw(std::array<std::string, 2>{"one", "two"});
  EXPECT_EQ(seen(), "\033[Hone\033[K\r\ntwo\033[K\033[J");
}

TEST_F(Terminal24, FollowsItsSize) {
  const auto screen = Screen::take(name_.c_str());
  ASSERT_TRUE(screen);
  EXPECT_EQ(screen->size().columns, 80);
  winsize size{};
  size.ws_col = 120;
  size.ws_row = 50;
  ASSERT_EQ(ioctl(person_.get(), TIOCSWINSZ, &size), 0);
  EXPECT_EQ(screen->size().columns, 120);
  EXPECT_EQ(screen->size().rows, 50);
}

TEST(Screen, NeedsATerminal) {
  const auto screen = Screen::take("/dev/null");
  ASSERT_FALSE(screen);
  EXPECT_THAT(describe(screen.error()), HasSubstr("/dev/null"));
}

}  // namespace
}  // namespace chokepoint::cli
