#include "base/traffic/content.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace chokepoint::traffic {
namespace {

Content of_hex(std::string_view digits) {
  std::vector<std::uint8_t> bytes;
  for (std::size_t at = 0; at + 1 < digits.size(); at += 2) {
    bytes.push_back(
        static_cast<std::uint8_t>(std::stoi(std::string(digits.substr(at, 2)), nullptr, 16)));
  }
  return content_of(bytes);
}

Content of_text(std::string_view text) {
  return content_of(std::vector<std::uint8_t>(text.begin(), text.end()));
}

// As captured of PyTorch 1.13 and Open MPI 4.1.
TEST(Content, IsKnownByWhatLibrariesSayFirst) {
  EXPECT_EQ(of_hex("0800000000000000b800b901bd027731"), Content::TensorPipe);
  EXPECT_EQ(of_hex("0500000000000000b801b90100"), Content::TensorPipe);
  EXPECT_EQ(of_hex("01005440010000004f50414c2d5443502d42544c00000000"), Content::OpenMpi);
  EXPECT_EQ(of_hex("ffffffffffffffff37000000000000006e61746976650000"), Content::Pmix);
  EXPECT_EQ(of_hex("00cef7853c"), Content::TcpStore);
  EXPECT_EQ(of_hex("6c9d4bfcf2b94a5603000000"), Content::Nccl);
}

TEST(Content, IsKnownByWhatServersAreAsked) {
  EXPECT_EQ(of_text("GET /checkpoint/1 HTTP/1.1\r\n"), Content::Http);
  EXPECT_EQ(of_text("HTTP/1.1 200 OK\r\n"), Content::Http);
  EXPECT_EQ(of_text("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), Content::Http2);
  EXPECT_EQ(of_text("SSH-2.0-OpenSSH_9.2p1\r\n"), Content::Ssh);
  EXPECT_EQ(of_hex("1603010200010001fc0303"), Content::Tls);
  EXPECT_EQ(of_hex("800000281a2b3c4d0000000000000002000186a300000004"), Content::Nfs);
  EXPECT_EQ(of_hex("000000f8fe534d4240000100"), Content::Smb);
  EXPECT_EQ(of_hex("ff00000000000000017f0300"), Content::Zmq);
  EXPECT_EQ(of_text("*1\r\n$4\r\nPING\r\n"), Content::Redis);
}

TEST(Content, OtherBytesAndTooFewOfThemAreUnknown) {
  EXPECT_EQ(of_text(""), Content::Unknown);
  EXPECT_EQ(of_text("GET"), Content::Unknown);
  EXPECT_EQ(of_text("GETTING /"), Content::Unknown);
  EXPECT_EQ(of_hex("1703030200010001fc0303"), Content::Unknown);
  EXPECT_EQ(of_hex("800000281a2b3c4d0000000100000002000186a300000004"), Content::Unknown);
  EXPECT_EQ(of_hex("300000000000000002000000000000000000000000000002"), Content::Unknown);
}

TEST(Content, EachHasANameOfItsOwn) {
  for (const auto& [content, name] : EnumNames<Content>::kNames) {
    EXPECT_EQ(named<Content>(name), content);
  }
}

}  // namespace
}  // namespace chokepoint::traffic
