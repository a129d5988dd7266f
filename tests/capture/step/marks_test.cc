// And marks_socket.h: what arrives there are marks.
#include "capture/step/marks.h"

#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/sys/descriptor.h"
#include "base/sys/process.h"
#include "tests/base/record/record_folder.h"
#include "tests/fakes/nanoseconds.h"

namespace chokepoint::capture::step {
namespace {

namespace fs = std::filesystem;
using fakes::kMs;
using testing::ElementsAre;

// A process that stays connected, as those of the Python package do.
class Sender {
 public:
  explicit Sender(const fs::path& path)
      : socket_(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0)) {
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    path.string().copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(connect(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }
  bool send(const std::string& text) const {
    return ::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL) >= 0;
  }
  void send_with_descriptor(const std::string& text, int descriptor) const {
    iovec part{.iov_base = const_cast<char*>(text.data()), .iov_len = text.size()};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof descriptor)> control{};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* head = CMSG_FIRSTHDR(&message);
    *head = {
        .cmsg_len = CMSG_LEN(sizeof descriptor), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    std::memcpy(CMSG_DATA(head), &descriptor, sizeof descriptor);
    EXPECT_EQ(sendmsg(socket_.get(), &message, MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
  }

 private:
  sys::Descriptor socket_;
};

std::vector<Sender> connected(int count, const fs::path& path) {
  std::vector<Sender> senders;
  for (int i = 0; i < count; ++i) senders.emplace_back(path);
  return senders;
}

std::string step_mark(int rank, std::int64_t number, std::int64_t t_ns) {
  return text_of({.name = "step", .number = number, .rank = rank, .t_ns = t_ns});
}

std::ptrdiff_t open_descriptors() {
  return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator());
}

class MarksTest : public record::RecordFolder {
 protected:
  void SetUp() override {
    writer = open_writer();
    marks = *Marks::listen(folder_.path(), clock_, *writer);
  }
  void send(const Mark& mark) { EXPECT_TRUE(send_mark(marks->path(), mark)); }
  void take(const job::JobProcesses& processes = {}) {
    marks->take(processes, [this](const Step& step) { seen.push_back(step); });
  }
  // Sent and taken at this moment.
  void after(std::int64_t ms, const Mark& mark) {
    clock_.advance(ms * kMs);
    send(mark);
    take();
  }
  // As a killed listener leaves it behind.
  static void bind_and_leave(const fs::path& folder) {
    fs::create_directory(folder);
    const int socket = ::socket(AF_UNIX, SOCK_SEQPACKET, 0);
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    (folder / "marks").string().copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(listen(socket, 1), 0);
    close(socket);
  }
  std::vector<record::Event> events() {
    marks.reset();
    writer->close();
    record::Reader reader = open_reader();
    return *reader.all<record::Event>();
  }

  std::unique_ptr<record::Writer> writer;
  std::unique_ptr<Marks> marks;
  std::vector<Step> seen;
};

TEST_F(MarksTest, EachStepEndsTheOneBefore) {
  after(10, {.name = "step"});
  after(20, {.name = "step"});
  after(30, {.name = "step", .number = 7, .samples = 64});
  after(40, {.name = "step"});
  ASSERT_EQ(seen.size(), 3U);
  EXPECT_EQ(seen[0].end_ns - seen[0].start_ns, 20 * kMs);
  EXPECT_EQ(seen[1].end_ns - seen[1].start_ns, 30 * kMs);
  EXPECT_EQ(seen[2].number, 7);
  EXPECT_EQ(seen[2].samples, 64);
  EXPECT_FALSE(seen[2].rank);
}

TEST_F(MarksTest, RanksHaveStepsOfTheirOwn) {
  for (int i = 0; i < 3; ++i) {
    after(10, {.name = "step", .rank = 0});
    after(5, {.name = "step", .rank = 1});
  }
  ASSERT_EQ(seen.size(), 4U);
  EXPECT_EQ(seen[1].rank, 1);
  EXPECT_EQ(seen[1].end_ns - seen[1].start_ns, 15 * kMs);
}

TEST_F(MarksTest, ItsOwnTimeIsTakenWhereItCanBe) {
  const std::int64_t begin = clock_.monotonic_ns();
  clock_.advance(500 * kMs);
  send({.name = "step", .t_ns = begin + 100 * kMs});
  send({.name = "step", .t_ns = begin + 300 * kMs});
  send({.name = "step", .t_ns = begin + 9'000 * kMs});  // has not come yet
  take();
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_EQ(seen[0].start_ns, begin + 100 * kMs);
  EXPECT_EQ(seen[0].end_ns, begin + 300 * kMs);
  EXPECT_EQ(seen[1].end_ns, begin + 500 * kMs);
}

TEST_F(MarksTest, OtherNamesAreEvents) {
  after(10, {.name = "evaluation", .number = 3, .rank = 1});
  EXPECT_TRUE(seen.empty());
  const auto kept = events();
  ASSERT_EQ(kept.size(), 1U);
  EXPECT_EQ(kept[0].kind, "mark");
  EXPECT_EQ(kept[0].subject, "evaluation");
  EXPECT_EQ(kept[0].detail, R"({"number":3,"rank":1})");
}

TEST_F(MarksTest, AFloodOfEventsIsCutAndSaidSo) {
  for (int i = 0; i < 700; ++i) after(0, {.name = "tick"});
  const auto kept = events();
  const auto is_mark = [](const record::Event& event) { return event.kind == "mark"; };
  EXPECT_EQ(std::ranges::count_if(kept, is_mark), 500);
  EXPECT_EQ(kept.back().kind, "dropped");
  EXPECT_EQ(kept.back().detail, R"({"reason":"too many marks","rows":200})");
}

TEST_F(MarksTest, WhoFloodsIsNeverWaitedForNorWaits) {
  int refused = 0;
  for (int i = 0; i < 5'000; ++i) {
    refused += send_mark(marks->path(), {.name = "step", .number = i}) ? 0 : 1;
  }
  EXPECT_GT(refused, 0);
  take();
  EXPECT_LT(seen.size(), 513U);
  const Sender sender(marks->path());
  refused = 0;
  for (int i = 0; i < 50'000; ++i) refused += sender.send("step") ? 0 : 1;
  EXPECT_GT(refused, 0);
}

// A second in which the watch gets no processor.
TEST_F(MarksTest, NoneOf64RanksIsLostUntilTheyAreTaken) {
  constexpr int kRanks = 64;
  constexpr int kSteps = 200;
  const std::vector<Sender> senders = connected(kRanks, marks->path());
  const std::int64_t begin_ns = clock_.monotonic_ns();
  for (int number = 0; number < kSteps; ++number) {
    for (int rank = 0; rank < kRanks; ++rank) {
      ASSERT_TRUE(senders[rank].send(step_mark(rank, number, begin_ns + number * 5 * kMs)));
    }
  }
  clock_.advance(kSteps * 5 * kMs);
  take();
  EXPECT_EQ(seen.size(), kRanks * (kSteps - 1));
  EXPECT_TRUE(std::ranges::all_of(
      seen, [](const Step& step) { return step.end_ns - step.start_ns == 5 * kMs; }));
}

TEST_F(MarksTest, MarksOfProcessesWithoutARankAreInTheOrderOfTheirTimes) {
  const std::int64_t begin_ns = clock_.monotonic_ns();
  const Sender first(marks->path());
  const Sender second(marks->path());
  clock_.advance(100 * kMs);
  ASSERT_TRUE(first.send("step 0 t=" + std::to_string(begin_ns)));
  ASSERT_TRUE(first.send("step 2 t=" + std::to_string(begin_ns + 20 * kMs)));
  ASSERT_TRUE(second.send("step 1 t=" + std::to_string(begin_ns + 10 * kMs)));
  take();
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_EQ(seen[0].number, 0);
  EXPECT_EQ(seen[0].end_ns - seen[0].start_ns, 10 * kMs);
  EXPECT_EQ(seen[1].number, 1);
}

TEST_F(MarksTest, OneThatFloodsTakesNothingFromOthers) {
  const Sender flood(marks->path());
  const Sender other(marks->path());
  while (flood.send("step rank=1")) {
  }
  const std::int64_t begin_ns = clock_.monotonic_ns();
  clock_.advance(kMs);
  ASSERT_TRUE(other.send(step_mark(0, 0, begin_ns)));
  ASSERT_TRUE(other.send(step_mark(0, 1, begin_ns + 1)));
  take();
  EXPECT_EQ(std::ranges::count(seen, std::optional(0), &Step::rank), 1);
}

TEST_F(MarksTest, ConnectionsThatAreOverAreClosed) {
  const std::ptrdiff_t before = open_descriptors();
  for (int i = 0; i < 3; ++i) {
    const std::vector<Sender> senders = connected(20, marks->path());
    for (const Sender& sender : senders) EXPECT_TRUE(sender.send("x"));
    take();
    EXPECT_EQ(open_descriptors(), before + 40);
    EXPECT_TRUE(senders[0].send(""));
    take();
    EXPECT_FALSE(senders[0].send("x")) << "an empty message is the end";
  }
  take();
  EXPECT_EQ(open_descriptors(), before);
}

TEST_F(MarksTest, DescriptorsThatComeAlongAreClosed) {
  const Sender sender(marks->path());
  const std::ptrdiff_t accepted = open_descriptors() + 1;
  sender.send_with_descriptor("x", STDERR_FILENO);  // not accepted yet
  take();
  for (int i = 0; i < 5; ++i) {
    sender.send_with_descriptor("x", STDERR_FILENO);
    take();
  }
  EXPECT_EQ(open_descriptors(), accepted);
  EXPECT_EQ(events().size(), 6U);
}

TEST_F(MarksTest, WhoComesAfterTooManyIsTakenWhenOthersHaveGone) {
  std::vector<Sender> many = connected(512, marks->path());
  take();
  const Sender late(marks->path());
  const std::int64_t begin_ns = clock_.monotonic_ns();
  clock_.advance(kMs);
  for (int number = 0; number < 200; ++number) {
    ASSERT_TRUE(late.send(step_mark(1, number, begin_ns + number)));
  }
  take();
  EXPECT_TRUE(seen.empty());
  many.clear();
  take();
  take();
  EXPECT_EQ(seen.size(), 199U);
}

TEST_F(MarksTest, NoiseIsNoMark) {
  for (const char* text : {"", " ", "=", "a=b", "\x01\x02", "\xff\xfe step"}) {
    EXPECT_FALSE(read_mark(text)) << text;
  }
  EXPECT_FALSE(read_mark(std::string(100, 'x')));
  const auto odd = read_mark("step x samples=-1 rank=99999999999 t=1e9 later=yes\n");
  ASSERT_TRUE(odd);
  EXPECT_FALSE(odd->number || odd->samples || odd->rank || odd->t_ns);
}

TEST_F(MarksTest, TextIsReadAsItIsWritten) {
  const Mark mark{.name = "step", .number = 17, .samples = 64, .rank = 3, .t_ns = 123};
  EXPECT_EQ(text_of(mark), "step 17 samples=64 rank=3 t=123");
  EXPECT_EQ(text_of(*read_mark(text_of(mark))), text_of(mark));
}

TEST_F(MarksTest, TheFolderIsNobodyElsesAndGoes) {
  const fs::path folder = marks->path().parent_path();
  EXPECT_EQ(fs::status(folder).permissions(), fs::perms::owner_all);
  EXPECT_EQ(folder.parent_path(), folder_.path());
  marks.reset();
  EXPECT_FALSE(fs::exists(folder));
}

// As of a job in a chroot, which lacks the folder.
TEST_F(MarksTest, WithoutTheFolderTheyArriveByName) {
  const fs::path path = marks->path();
  fs::rename(path.parent_path(), folder_.path() / "elsewhere");
  after(10, {.name = "step"});
  after(20, {.name = "step", .rank = 1});
  after(30, {.name = "step"});
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(seen[0].end_ns - seen[0].start_ns, 50 * kMs);
  marks.reset();
  const Result<> nowhere = send_mark(path, {.name = "step"});
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().code, ENOENT) << "why the path did not lead to it";
}

// Everybody can connect to a name, but only to folders that let them in.
TEST_F(MarksTest, OfOtherUsersNoneArrivesByName) {
  if (::geteuid() != 0) {
    GTEST_SKIP() << "needs root, to be another user";
  }
  constexpr int kMany = 3'000;  // more than are closed in one look
  const std::string flood =
      "import os, socket, sys\n"
      "os.setresuid(65533, 65533, 65533)\n"
      "for _ in range(" +
      std::to_string(kMany) +
      "):\n"
      "    stranger = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_NONBLOCK)\n"
      "    stranger.connect(b'\\0' + os.environb[b'CHOKEPOINT_MARKS'])\n"
      "    stranger.send(b'evaluation')\n";
  auto strangers =
      sys::Process::start({.command = {"python3", "-c", flood},
                           .environment = {{std::string(kMarksVariable), marks->path().string()}}});
  ASSERT_TRUE(strangers) << describe(strangers.error());
  EXPECT_EQ(strangers->wait()->code, 0);
  fs::rename(marks->path().parent_path(), folder_.path() / "elsewhere");
  send({.name = "own"});
  const std::ptrdiff_t before = open_descriptors();
  for (int look = 0; look < 4; ++look) take();
  EXPECT_EQ(open_descriptors(), before);
  const auto kept = events();
  ASSERT_EQ(kept.size(), 1U);
  EXPECT_EQ(kept[0].subject, "own");
}

TEST_F(MarksTest, WhatTheKilledLeftIsTakenAway) {
  const fs::path living = marks->path().parent_path();
  const fs::path dead = folder_.path() / "chokepoint-marks-dead";
  bind_and_leave(dead);
  const auto another = Marks::listen(folder_.path(), clock_, *writer);
  EXPECT_FALSE(fs::exists(dead));
  EXPECT_TRUE(fs::exists(living));
  after(10, {.name = "step"});
}

// A folder for temporary files is everybody's: others plant links in it that lead to what they
// cannot remove themselves.
TEST_F(MarksTest, NothingIsRemovedThroughALinkThatSomebodyPlanted) {
  const fs::path victim = folder_.path() / "victim";
  fs::create_directory(victim);
  std::ofstream(victim / "marks") << "grades of a year";
  fs::create_directory_symlink(victim, folder_.path() / "chokepoint-marks-folder");

  const fs::path planted = folder_.path() / "chokepoint-marks-file";
  fs::create_directory(planted);
  fs::create_symlink(victim / "marks", planted / "marks");

  const auto another = Marks::listen(folder_.path(), clock_, *writer);
  ASSERT_TRUE(another) << describe(another.error());
  EXPECT_TRUE(fs::exists(victim / "marks"));
  EXPECT_TRUE(fs::is_symlink(planted / "marks"));
  EXPECT_TRUE(send_mark((*another)->path(), {.name = "step"}));
}

TEST_F(MarksTest, NoFileIsTakenForASocketThatWasLeftBehind) {
  const fs::path folder = folder_.path() / "chokepoint-marks-notes";
  fs::create_directory(folder);
  std::ofstream(folder / "marks") << "grades of a year";
  const auto another = Marks::listen(folder_.path(), clock_, *writer);
  EXPECT_TRUE(fs::exists(folder / "marks"));
}

TEST_F(MarksTest, AFolderThatOthersCanChangeIsLeftAlone) {
  const fs::path open = folder_.path() / "chokepoint-marks-open";
  bind_and_leave(open);
  fs::permissions(open, fs::perms::all);
  const fs::path foreign = folder_.path() / "chokepoint-marks-foreign";
  bind_and_leave(foreign);
  const bool is_root = ::chown(foreign.c_str(), 65534, 65534) == 0;
  const auto another = Marks::listen(folder_.path(), clock_, *writer);
  EXPECT_TRUE(fs::exists(open / "marks"));
  EXPECT_TRUE(!is_root || fs::exists(foreign / "marks"));
}

TEST_F(MarksTest, WhatTookItsFoldersPlaceMeanwhileIsLeftAlone) {
  const fs::path folder = marks->path().parent_path();
  const fs::path victim = folder_.path() / "victim";
  fs::create_directory(victim);
  std::ofstream(victim / "marks") << "grades of a year";
  fs::rename(folder, folder_.path() / "moved");
  fs::create_directory_symlink(victim, folder);
  marks.reset();
  EXPECT_TRUE(fs::exists(victim / "marks"));
}

TEST_F(MarksTest, APathTooLongForASocketIsLeftForAShortOne) {
  const fs::path deep = folder_.path() / std::string(100, 'd');
  fs::create_directory(deep);
  const auto elsewhere = Marks::listen(deep, clock_, *writer);
  ASSERT_TRUE(elsewhere) << describe(elsewhere.error());
  EXPECT_LT((*elsewhere)->path().string().size(), 108U);
  EXPECT_TRUE(send_mark((*elsewhere)->path(), {.name = "step"}));
}

TEST_F(MarksTest, WhereNobodyListensItIsAnError) {
  const fs::path path = marks->path();
  marks.reset();
  EXPECT_FALSE(send_mark(path, {.name = "step"}));
  EXPECT_FALSE(send_mark(std::string(200, 'x'), {.name = "step"}));
}

// What the documentation shows to be pasted into a job.
class Snippets : public MarksTest {
 protected:
  static std::string snippet(const std::string& language) {
    std::ifstream page(CHOKEPOINT_FIXTURES "/../../docs/internals/run-steps.md");
    const std::string text(std::istreambuf_iterator<char>(page), {});
    const std::string fence = "```" + language + "\n";
    const std::size_t begin = text.find(fence) + fence.size();
    return text.substr(begin, text.find("```", begin) - begin);
  }
  int run(const std::vector<std::string>& command, const std::string& socket) {
    auto started =
        sys::Process::start({.command = command, .environment = {{"CHOKEPOINT_MARKS", socket}}});
    EXPECT_TRUE(started) << describe(started.error());
    pid = started->pid();
    return started->wait()->code;
  }
  void SetUp() override {
    MarksTest::SetUp();
    marks = *Marks::listen(folder_.path(), real_clock, *writer);
  }
  // Two steps, heard; then without a listener, and with a listener that takes nothing.
  void expect_works(const std::vector<std::string>& command) {
    EXPECT_EQ(run(command, marks->path()), 0);
    const job::JobProcess process{.pid = pid, .rank = {.rank = 5}};
    take({process});
    ASSERT_EQ(seen.size(), 1U);
    EXPECT_EQ(seen[0].number, 0);
    EXPECT_EQ(seen[0].rank, 5);
    EXPECT_LT(seen[0].end_ns - seen[0].start_ns, 60'000 * kMs);
    while (send_mark(marks->path(), {.name = "step"})) {
    }
    EXPECT_EQ(run(command, marks->path()), 0);
    marks.reset();
    for (const char* nowhere : {"", "/nowhere/at/all"}) EXPECT_EQ(run(command, nowhere), 0);
    EXPECT_EQ(run(command, std::string(300, 'x')), 0);
  }

  const sys::SystemClock real_clock;
  pid_t pid = 0;
};

TEST_F(Snippets, Python) {
  const std::string text = snippet("python");
  const std::size_t last = text.rfind('\n', text.size() - 2) + 1;
  const fs::path script = folder_.path() / "train.py";
  std::ofstream(script) << text.substr(0, last) << "for step in range(2):\n  " << text.substr(last);
  expect_works({"python3", "-W", "error::SyntaxWarning", script});
}

TEST_F(Snippets, C) {
  const fs::path source = folder_.path() / "train.c";
  std::ofstream(source) << snippet("c")
                        << "int main(void) { mark_step(0); mark_step(1); return 0; }\n";
  const fs::path program = folder_.path() / "train";
  ASSERT_EQ(run({"cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-o", program, source}, ""), 0);
  expect_works({program});
}

}  // namespace
}  // namespace chokepoint::capture::step
