#include "base/history/server_url.h"

#include <gtest/gtest.h>

namespace chokepoint::history {
namespace {

TEST(ServerUrl, NoPasswordIsShown) {
  for (const auto& [url, shown] :
       {std::pair{"postgresql://u:secret@host:5432/db", "postgresql://u:***@host:5432/db"},
        {"postgres://u:se/c@ret@host/db", "postgres://u:***@host/db"},
        {"postgresql://u@host/db?password=secret&sslmode=require",
         "postgresql://u@host/db?password=***&sslmode=require"},
        {"postgresql://host/db?user=u&sslpassword=secret",
         "postgresql://host/db?user=u&sslpassword=***"},
        {"postgresql://u@host:5432/db", "postgresql://u@host:5432/db"},
        {"/tmp/a:b@c.db", "/tmp/a:b@c.db"}}) {
    EXPECT_EQ(shown_place(url), shown);
  }
}

TEST(ServerUrl, AFileIsNoServer) {
  EXPECT_TRUE(is_server_url("postgres://h/d"));
  EXPECT_FALSE(is_server_url("postgresql:/h/d"));
  EXPECT_FALSE(is_server_url("history.db"));
}

}  // namespace
}  // namespace chokepoint::history
