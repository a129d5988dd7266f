#include "capture/commands/findings.h"

#include <gtest/gtest.h>

#include <sstream>

namespace chokepoint::capture {
namespace {

using cli::Json;

TEST(StreamedDocument, ReadsAsWhatWasPutIn) {
  std::ostringstream out;
  {
    StreamedDocument document(out);
    document.add_all({{"schema", "a/1"}, {"nothing", nullptr}});
    document.begin_list("flows");
    document.item({{"packets", 1}});
    document.item({{"packets", 2}});
    document.end_list();
    document.begin_list("none");
    document.end_list();
    document.add("rest", Json{{"a", {1, 2}}, {"text", "two\nlines"}});
  }
  const Json wanted{{"schema", "a/1"},
                    {"nothing", nullptr},
                    {"flows", {{{"packets", 1}}, {{"packets", 2}}}},
                    {"none", Json::array()},
                    {"rest", {{"a", {1, 2}}, {"text", "two\nlines"}}}};
  EXPECT_EQ(Json::parse(out.str()), wanted);
}

TEST(StreamedDocument, IsOneEvenWhenEmpty) {
  std::ostringstream out;
  {
    const StreamedDocument document(out);
  }
  EXPECT_EQ(Json::parse(out.str()), Json::object());
}

}  // namespace
}  // namespace chokepoint::capture
