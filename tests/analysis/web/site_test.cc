#include "analysis/web/site.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <mutex>
#include <span>

#include "analysis/web/query.h"
#include "base/net/socket.h"

namespace chokepoint::analysis::web {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;
using Words = std::vector<std::string>;

TEST(Parameter, IsDecoded) {
  EXPECT_EQ(parameter("a=1&subject=gpu1+%3e%20gpu2&b", "subject"), "gpu1 > gpu2");
  EXPECT_EQ(parameter("subject=a&subject=b", "subject"), "a");
  EXPECT_EQ(parameter("subject", "subject"), "");
  EXPECT_EQ(parameter("subjects=a", "subject"), std::nullopt);
}

TEST(Parameter, ThatIsNoTextIsNone) {
  for (const char* text :
       {"s=%", "s=%4", "s=%zz", "s=%00", "s=a%0ab", "s=%1b[31m", "s=%ff", "s=%7f"}) {
    EXPECT_EQ(parameter(text, "s"), std::nullopt) << text;
  }
  EXPECT_EQ(parameter("s=" + std::string(5000, 'a'), "s"), std::nullopt);
}

TEST(RunBelow, IsInTheFolder) {
  EXPECT_EQ(run_below("runs", "runs/812"), "runs/812");
  EXPECT_EQ(run_below("/data/runs", "/data/runs/sweep/1"), "/data/runs/sweep/1");
  EXPECT_EQ(run_below("/", "/a"), "/a");
  EXPECT_EQ(run_below("runs", "runs"), "runs");
}

TEST(RunBelow, IsNothingElse) {
  for (const char* named :
       {"", "/etc/passwd", "runs/", "runs/..", "runs/../../etc/passwd", "runs/a/../b", "runs/./a",
        "runs//a", "runs/a/", "runs2/a", "runs2", "../runs/a", "runs/.hidden"}) {
    EXPECT_EQ(run_below("runs", named), std::nullopt) << named;
  }
  EXPECT_EQ(run_below("runs", std::nullopt), std::nullopt);
}

// A site whose commands print their words.
class Served {
 public:
  explicit Served(mcp::Call call = {}) {
    answers_ = *Answers::start([this, call](const Words& words) {
      const std::scoped_lock lock(mutex_);
      called_.push_back(words);
      return call ? call(words) : mcp::CallOutcome{.out = words.front()};
    });
    site_ = std::make_unique<Site>(Access({.host_name = "gpu1"}), *answers_,
                                   Site::Places{.runs = "runs", .options = {"--json"}});
    server_ = *net::PageServer::start(
        {*net::Address::parse("127.0.0.1"), 0},
        [this](const net::PageRequest& request, const net::PageReply& reply) {
          site_->respond(request, reply);
        });
  }

  std::string get(const std::string& target) const {
    const net::Deadline deadline = net::Deadline::of(std::chrono::seconds(10));
    const auto connection = net::connect(
        {*net::Address::parse("127.0.0.1"), static_cast<std::uint16_t>(server_->port())}, {},
        deadline);
    const std::string request = "GET " + target + " HTTP/1.1\r\nHost: localhost\r\n\r\n";
    EXPECT_TRUE(net::send_all(connection->get(), std::as_bytes(std::span(request)), deadline, ""));
    std::string response;
    std::array<std::byte, 4096> piece{};
    while (const auto count = net::receive_some(connection->get(), piece, deadline, "")) {
      if (*count == 0) {
        break;
      }
      response.append(reinterpret_cast<const char*>(piece.data()), *count);
    }
    return response;
  }

  std::vector<Words> called() {
    const std::scoped_lock lock(mutex_);
    return called_;
  }

 private:
  std::mutex mutex_;
  std::vector<Words> called_;
  std::unique_ptr<Answers> answers_;
  std::unique_ptr<Site> site_;
  std::unique_ptr<net::PageServer> server_;
};

TEST(Site, AsksCommands) {
  Served served;
  EXPECT_THAT(served.get("/data/fleet"), HasSubstr("application/json"));
  served.get("/data/newest");
  served.get("/data/subject?subject=--help&metric=rtt_ms");
  served.get("/data/runs");
  served.get("/data/live?run=runs/812");
  EXPECT_THAT(served.get("/report?run=runs/812"), HasSubstr("sandbox allow-scripts"));
  EXPECT_THAT(served.called(),
              ElementsAre(Words{"web", "--json"}, Words{"web", "--json", "--newest"},
                          Words{"web", "--json", "--metric=rtt_ms", "--runs=runs", "--", "--help"},
                          Words{"runs", "--json", "--limit", "200", "--", "runs"},
                          Words{"live", "--once", "--json", "--", "runs/812"},
                          Words{"report", "--quiet", "-o", "-", "--", "runs/812"}));
}

TEST(Site, AddressesLeadToNoFile) {
  Served served;
  for (const char* target :
       {"/runs/../../etc/passwd", "/../etc/passwd", "/%2e%2e/etc/passwd", "/etc/passwd",
        "/report?run=/etc/passwd", "/report?run=runs/../../etc/passwd",
        "/report?run=runs%2f..%2f..%2fetc%2fpasswd", "/report", "/data/live?run=", "/data/",
        "/data/subject", "/data/subject?subject=%00", "//page.js"}) {
    EXPECT_THAT(served.get(target), StartsWith("HTTP/1.1 404")) << target;
  }
  EXPECT_THAT(served.called(), IsEmpty());
}

TEST(Site, ThePageAllowsItsOwnOriginAlone) {
  Served served;
  const std::string page = served.get("/");
  EXPECT_THAT(page, HasSubstr("Content-Security-Policy: default-src 'none'; script-src 'self'"));
  EXPECT_THAT(page, Not(HasSubstr("unsafe")));
  EXPECT_THAT(page, HasSubstr("data-view=\"fleet\""));
}

TEST(Site, AnErrorOfACommandIsPlainText) {
  Served served([](const Words&) {
    return mcp::CallOutcome{.has_failed = true, .out = "<script>alert(1)</script>"};
  });
  const std::string response = served.get("/data/fleet");
  EXPECT_THAT(response, StartsWith("HTTP/1.1 500"));
  EXPECT_THAT(response, HasSubstr("Content-Type: text/plain"));
  EXPECT_THAT(response, HasSubstr("nosniff"));
}

}  // namespace
}  // namespace chokepoint::analysis::web
