// The watch's end of a tap whose other end is anything: the process that parses packets may have
// been taken over by one of them.
#include "capture/tap/process.h"

#include <gmock/gmock.h>

#include <fstream>

#include "capture/packet/address_text.h"
#include "tests/base/record/record_folder.h"

namespace chokepoint::capture::tap {
namespace {

using testing::HasSubstr;

class TapProcessTest : public record::RecordFolder {
 protected:
  void SetUp() override {
    writer_ = open_writer();
    registry_ = std::make_unique<socket::FlowRegistry>(*writer_);
  }

  // A tap that says these messages, (kind, bytes) in Python, once it has heard what it is to do.
  Result<std::unique_ptr<TapProcess>> open(const std::string& says) {
    const std::filesystem::path program = folder_.path() / "tap";
    std::ofstream(program) << "#!/usr/bin/env python3\n"
                              "import socket, struct, time\n"
                              "watch = socket.socket(fileno=0)\n"
                              "watch.setblocking(True)\n"
                              "FAILED, OPENED, SETUP, BEGIN, ANSWERS, NARROW, STOP, ROWS, "
                              "QUESTIONS, BINS, FIGURES, NARROWED, ENDED = range(-2, 11)\n"
                              "def say(kind, data=b''):\n"
                              "    watch.send(struct.pack('<iiq', kind, 0, 0) + data)\n"
                              "def hear():\n"
                              "    data = watch.recv(1 << 17)\n"
                              "    return struct.unpack('<i', data[:4])[0] if data else None\n"
                              "assert hear() == SETUP\n"
                           << says;
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    return TapProcess::open({.program = program, .interface = "eth0"}, *registry_, *writer_, {});
  }

  // What it ends with, once it has said all that.
  Result<> end_of(const std::string& says) {
    auto tap = open("say(OPENED)\nassert hear() == BEGIN\n" + says + "\nhear()\n");
    if (!tap) {
      return fail(tap.error());
    }
    (*tap)->begin();
    for (int i = 0; i < 1'000 && !(*tap)->is_over(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    EXPECT_TRUE((*tap)->is_over());
    return (*tap)->end();
  }

  std::unique_ptr<record::Writer> writer_;
  std::unique_ptr<socket::FlowRegistry> registry_;
};

TEST_F(TapProcessTest, AProgramThatIsNoTapIsAnError) {
  const auto tap = open("");
  ASSERT_FALSE(tap);
  EXPECT_THAT(describe(tap.error()), HasSubstr("has ended"));
}

TEST_F(TapProcessTest, WhyItCannotBeOpenedIsPassedOn) {
  const auto tap =
      open("say(FAILED, b'2\\0001\\000listen\\000eth0\\000not allowed\\000do so\\000')\n");
  ASSERT_FALSE(tap);
  EXPECT_EQ(tap.error().kind, ErrorKind::Permission);
  EXPECT_EQ(describe(tap.error()), "listen: eth0: not allowed; do so");
}

TEST_F(TapProcessTest, AnErrorOfNoKindIsMalformed) {
  const auto tap = open("say(FAILED, b'99\\0001\\000a\\000b\\000c\\000d\\000')\n");
  ASSERT_FALSE(tap);
  EXPECT_EQ(tap.error().kind, ErrorKind::Malformed);
}

TEST_F(TapProcessTest, OneThatGoesEndsAsWhatItIs) {
  const Result<> ended = end_of("import sys; sys.exit()");
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().kind, ErrorKind::Io);
}

TEST_F(TapProcessTest, NonsenseIsTheEndOfAllTrust) {
  for (const std::string says :
       {"say(99)", "say(OPENED)", "say(ROWS, b'x')", "say(ROWS, struct.pack('<Q', 5000))",
        "say(ROWS, struct.pack('<Q', 0))", "say(ROWS, struct.pack('<QQQI', 256, 1, 1, 1 << 31))"}) {
    const Result<> ended = end_of(says);
    ASSERT_FALSE(ended) << says;
    EXPECT_EQ(ended.error().kind, ErrorKind::Malformed) << says;
  }
}

TEST_F(TapProcessTest, HalfOfAValueIsPassedOver) {
  EXPECT_TRUE(
      end_of("say(FIGURES, b'x' * 7)\nsay(BINS, b'x' * 15)\nsay(QUESTIONS, b'x')\n"
             "say(ENDED)"));
}

TEST_F(TapProcessTest, IsToldWhichFlowsAreTheJobs) {
  const auto address = [](const char* text) {
    return packet::as_in_packets(*net::Address::parse(text));
  };
  registry_->seen_by_sockets({.source = address("10.0.0.1"),
                              .destination = address("10.0.0.2"),
                              .source_port = 7,
                              .destination_port = 9,
                              .protocol = 6},
                             0, 1, {.process = 5, .interface = "eth0", .is_job = true}, 1);
  // The same connection from either end, and a stranger's.
  EXPECT_TRUE(
      end_of("def ends(a, b, port, other):\n"
             "    def mapped(last): return bytes(10) + b'\\xff\\xff' + bytes([10, 0, 0, last])\n"
             "    return mapped(a) + mapped(b) + struct.pack('<HHIII', port, other, 0, 6, 0)\n"
             "say(QUESTIONS, ends(1, 2, 7, 9) + ends(2, 1, 9, 7) + ends(1, 3, 7, 9))\n"
             "answers = watch.recv(1 << 17)[16:]\n"
             "size = len(answers) // 3\n"
             "senders = [answers[i * size + size - 8] for i in range(3)]\n"
             "say(ENDED if senders == [1, 2, 0] else 99)"));
}

TEST_F(TapProcessTest, OneThatNeverEndsIsEnded) {
  auto tap = open("say(OPENED)\nwhile True: time.sleep(60)\n");
  ASSERT_TRUE(tap);
  (*tap)->begin();
  const Result<> ended = (*tap)->end();
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().kind, ErrorKind::Io);
}

}  // namespace
}  // namespace chokepoint::capture::tap
