#include "base/control/key.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/sys/descriptor.h"
#include "tests/fakes/temporary_file.h"

namespace chokepoint::control {
namespace {

using testing::HasSubstr;

Result<Secret> key_in(const std::string& content, mode_t mode = 0600) {
  const fakes::TemporaryFile file(content);
  chmod(file.path().c_str(), mode);
  return read_key(file.path());
}

TEST(Key, WhiteSpaceAroundItIsNoPartOfIt) {
  EXPECT_EQ(key_in("0123456789abcdef").value(), key_in("  0123456789abcdef\n").value());
  EXPECT_NE(key_in("0123456789abcdef").value(), key_in("0123456789abcdeg").value());
}

TEST(Key, WhatEverybodyCanReadIsNoSecret) {
  const auto key = key_in("0123456789abcdef", 0644);
  ASSERT_FALSE(key);
  EXPECT_THAT(key.error().next_step, HasSubstr("chmod 600"));
}

TEST(Key, AShortOneIsRefusedWithTheCommandThatMakesAGoodOne) {
  const auto key = key_in("secret");
  ASSERT_FALSE(key);
  EXPECT_THAT(key.error().next_step, HasSubstr("/dev/urandom"));
}

TEST(Key, ItsTextIsWhatAChildIsHanded) {
  const fakes::TemporaryFile file(" 0123456789 abcdef\n");
  EXPECT_EQ(read_key_text(file.path()).value(), "0123456789 abcdef");
  EXPECT_EQ(secret_of("0123456789 abcdef"), read_key(file.path()).value());
}

// Standard input, for as long as it lives.
class Input {
 public:
  explicit Input(int fd) : before_(dup(STDIN_FILENO)) { dup2(fd, STDIN_FILENO); }
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;
  ~Input() {
    dup2(before_, STDIN_FILENO);
    close(before_);
  }

 private:
  int before_;
};

TEST(Key, ComesThroughStandardInputPieceByPiece) {
  std::array<int, 2> fds{};
  ASSERT_EQ(pipe(fds.data()), 0);
  const Input input(fds[0]);
  std::thread writer([&] {
    for (const std::string_view piece : {"01234567", "89abcdef\n"}) {
      EXPECT_EQ(write(fds[1], piece.data(), piece.size()), std::ssize(piece));
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    close(fds[1]);
  });
  EXPECT_EQ(read_key(std::string(kStandardInput)).value(), secret_of("0123456789abcdef"));
  // Who connects again has it still.
  EXPECT_EQ(read_key(std::string(kStandardInput)).value(), secret_of("0123456789abcdef"));
  writer.join();
  close(fds[0]);
}

TEST(Key, OneTooLongIsRefusedBeforeItsEnd) {
  std::array<int, 2> fds{};
  ASSERT_EQ(pipe(fds.data()), 0);
  const Input input(fds[0]);
  const std::string much(5000, 'k');
  ASSERT_EQ(write(fds[1], much.data(), much.size()), std::ssize(much));
  EXPECT_EQ(read_key(std::string(kStandardInput)).error().kind, ErrorKind::Usage);
  close(fds[0]);
  close(fds[1]);
}

TEST(Key, AFileBehindStandardInputIsLookedAtAsAnyOther) {
  const fakes::TemporaryFile file("0123456789abcdef");
  const sys::Descriptor fd(open(file.path().c_str(), O_RDONLY | O_CLOEXEC));
  const Input input(fd.get());
  ASSERT_EQ(chmod(file.path().c_str(), 0644), 0);
  EXPECT_THAT(read_key(std::string(kStandardInput)).error().reason, HasSubstr("all users"));
  ASSERT_EQ(chmod(file.path().c_str(), 0600), 0);
  EXPECT_TRUE(read_key(std::string(kStandardInput)));
  EXPECT_TRUE(read_key(std::string(kStandardInput)));
}

TEST(Key, AMissingFileIsNamed) {
  EXPECT_THAT(describe(read_key("/no/such/key").error()), HasSubstr("/no/such/key"));
}

class KeysOfHosts : public testing::Test {
 protected:
  KeysOfHosts() : path_("/tmp/chokepoint-keys-XXXXXX") {
    EXPECT_NE(mkdtemp(path_.data()), nullptr);
  }
  ~KeysOfHosts() override { std::filesystem::remove_all(path_); }

  void put(const std::string& host, const std::string& key, mode_t mode = 0600) {
    const std::string path = path_ + "/" + host;
    std::ofstream(path) << key;
    ASSERT_EQ(chmod(path.c_str(), mode), 0);
  }

  std::string path_;
};

TEST_F(KeysOfHosts, EachHostHasItsOwn) {
  put("voyager", "0123456789abcdef");
  put("hubble", "fedcba9876543210\n");
  const Result<KeyRing> ring = read_keys_of_hosts(path_);
  ASSERT_TRUE(ring) << describe(ring.error());
  EXPECT_FALSE(ring->is_empty());
  EXPECT_EQ(ring->key_of("voyager"), secret_of("0123456789abcdef"));
  EXPECT_EQ(ring->key_of("hubble"), read_key_for(path_, "hubble").value());
}

// Nobody can tell from outside which hosts have one.
TEST_F(KeysOfHosts, AHostWithoutOneGetsOneThatNobodyHas) {
  put("voyager", "0123456789abcdef");
  const KeyRing ring = read_keys_of_hosts(path_).value();
  ASSERT_TRUE(ring.key_of("pioneer"));
  EXPECT_NE(ring.key_of("pioneer"), ring.key_of("pioneer"));
}

TEST_F(KeysOfHosts, WhatIsWrongWithTheFolderIsSaid) {
  EXPECT_THAT(read_keys_of_hosts(path_).error().reason, HasSubstr("no key"));
  put(".gitkeep", "");
  put("voyager~", "0123456789abcdef");
  EXPECT_THAT(describe(read_keys_of_hosts(path_).error()), HasSubstr("voyager~"));
  std::filesystem::remove(path_ + "/voyager~");
  put("voyager", "0123456789abcdef", 0644);
  EXPECT_THAT(describe(read_keys_of_hosts(path_).error()), HasSubstr("voyager"));
  EXPECT_THAT(read_key(path_).error().reason, HasSubstr("folder"));
  chmod((path_ + "/voyager").c_str(), 0600);
  chmod(path_.c_str(), 0777);
  EXPECT_THAT(read_keys_of_hosts(path_).error().next_step, HasSubstr("chmod 700"));
}

// An old copy would let in whoever has the old key.
TEST_F(KeysOfHosts, ACopyIsNoKey) {
  put("voyager", "0123456789abcdef");
  put("hubble.site", "0123456789abcdef");
  ASSERT_TRUE(read_keys_of_hosts(path_));
  for (const char* copy : {"pioneer.old", "pioneer.bak", "pioneer.swp", "pioneer.dpkg-dist",
                           "voyager.2026-01-01", "voyager.1", "hubble.site.x"}) {
    put(copy, "fedcba9876543210");
    const Result<KeyRing> ring = read_keys_of_hosts(path_);
    ASSERT_FALSE(ring) << copy;
    EXPECT_THAT(describe(ring.error()), HasSubstr(copy));
    std::filesystem::remove(path_ + "/" + copy);
  }
  EXPECT_TRUE(read_keys_of_hosts(path_));
}

TEST_F(KeysOfHosts, AreReadAgainWhenTheyChange) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  put("voyager", "0123456789abcdef");
  KeyFolder folder(path_);
  EXPECT_FALSE(folder.news(kSecond));
  put("hubble", "fedcba9876543210");
  EXPECT_FALSE(folder.news(kSecond + 1)) << "once a second at most";
  const auto added = folder.news(2 * kSecond);
  ASSERT_TRUE(added && *added);
  EXPECT_EQ((*added)->key_of("hubble"), secret_of("fedcba9876543210"));
  EXPECT_FALSE(folder.news(3 * kSecond));
  put("hubble", "an other key, as long");
  ASSERT_EQ((*folder.news(4 * kSecond))->key_of("hubble"), secret_of("an other key, as long"));
}

TEST_F(KeysOfHosts, WhatIsWrongAfterAChangeIsSaidOnce) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  put("voyager", "0123456789abcdef");
  KeyFolder folder(path_);
  put("hubble", "");
  const auto broken = folder.news(kSecond);
  ASSERT_TRUE(broken);
  EXPECT_THAT(describe(broken->error()), HasSubstr("hubble"));
  EXPECT_FALSE(folder.news(2 * kSecond));
  std::filesystem::remove(path_ + "/hubble");
  std::filesystem::remove(path_ + "/voyager");
  const auto none = folder.news(3 * kSecond);
  ASSERT_TRUE(none && *none) << "who is taken out is out, the last one, too";
  EXPECT_FALSE((*none)->is_empty());
  EXPECT_NE((*none)->key_of("voyager"), secret_of("0123456789abcdef"));
}

TEST_F(KeysOfHosts, NoHostsNameLeadsOutOfTheFolder) {
  for (const char* peer : {"../voyager", ".", "", "a/b", ".hidden"}) {
    EXPECT_FALSE(read_key_for(path_, peer)) << peer;
  }
}

TEST(Key, PartsDoNotRunIntoEachOther) {
  const Secret secret = random_secret();
  EXPECT_NE(mac_of(secret, {"ab", "c"}), mac_of(secret, {"a", "bc"}));
  EXPECT_EQ(mac_of(secret, {"ab", "c"}), mac_of(secret, {"ab", "c"}));
}

TEST(Key, HexadecimalOfTheRightLengthOnly) {
  const Secret secret = random_secret();
  EXPECT_EQ(from_hex(to_hex(secret)), secret);
  for (const std::string& text : {std::string(), std::string(63, 'a'), std::string(64, 'g')}) {
    EXPECT_EQ(from_hex(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace chokepoint::control
