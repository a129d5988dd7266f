#include "preflight/task/host_text.h"

#include <gtest/gtest.h>

#include <string>

namespace chokepoint::preflight {
namespace {

TEST(HostText, NamesAndAddresses) {
  for (const char* text : {"gpu1", "gpu-1.cluster.example", "10.0.0.1", "fe80::1%eth0", "[::1]",
                           "10.0.0.1:5210", "gpu_1", "r\xC3\xA9seau"}) {
    EXPECT_TRUE(is_host_text(text)) << text;
  }
}

TEST(HostText, NothingThatACommandLineTakesForSomethingElse) {
  for (const std::string& text :
       {std::string(), std::string("-x"), std::string("--json"), std::string("a b"),
        std::string("a,b"), std::string("a\nb"), std::string("a\tb"), std::string("a\x1b[31m"),
        std::string("a\0b", 3), std::string("a/b"), std::string("$(id)"), std::string("`id`"),
        std::string("'a'"), std::string("a\x7f"), std::string(256, 'a')}) {
    EXPECT_FALSE(is_host_text(text)) << text;
  }
}

}  // namespace
}  // namespace chokepoint::preflight
