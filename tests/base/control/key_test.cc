#include "base/control/key.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

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

TEST(Key, AMissingFileIsNamed) {
  EXPECT_THAT(describe(read_key("/no/such/key").error()), HasSubstr("/no/such/key"));
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
