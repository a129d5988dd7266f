// What Prometheus' text format demands of every line, and what node_exporter demands on top: no
// times. Expectations of the test that makes it.
#pragma once

#include <gtest/gtest.h>

#include <regex>
#include <set>
#include <sstream>
#include <string>

namespace chokepoint::metrics {

class ExpositionChecker {
 public:
  explicit ExpositionChecker(const std::string& text) {
    EXPECT_TRUE(text.ends_with('\n'));
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      check(line);
    }
  }
  std::size_t samples() const { return seen_.size(); }

 private:
  void check(const std::string& line) {
    static const std::regex help(R"re(# HELP ([a-zA-Z_:][a-zA-Z0-9_:]*) (?:[^\\]|\\\\|\\n)+)re");
    static const std::regex type("# TYPE ([a-zA-Z_:][a-zA-Z0-9_:]*) (counter|gauge)");
    std::smatch parts;
    if (std::regex_match(line, parts, help)) {
      EXPECT_TRUE(helped_.insert(parts[1]).second) << "HELP twice: " << line;
      family_ = parts[1];
    } else if (std::regex_match(line, parts, type)) {
      EXPECT_EQ(parts[1], family_) << line;
      EXPECT_TRUE(typed_.insert(parts[1]).second) << "TYPE twice: " << line;
      EXPECT_EQ(parts[2] == "counter", family_.ends_with("_total")) << line;
    } else {
      check_sample(line);
    }
  }

  void check_sample(const std::string& line) {
    static const std::regex sample(
        R"re(([a-zA-Z_:][a-zA-Z0-9_:]*)(\{(?:[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*",?)*\})? (\S+))re");
    std::smatch parts;
    ASSERT_TRUE(std::regex_match(line, parts, sample)) << "not of the format: " << line;
    EXPECT_EQ(parts[1], family_) << "away from its family: " << line;
    EXPECT_TRUE(typed_.contains(parts[1])) << line;
    EXPECT_TRUE(seen_.insert(parts[1].str() + parts[2].str()).second) << "twice: " << line;
    std::size_t read = 0;
    std::stod(parts[3], &read);
    EXPECT_EQ(read, parts[3].str().size()) << line;
    check_labels(parts[2]);
  }

  static void check_labels(const std::string& labels) {
    static const std::regex label("([a-zA-Z_][a-zA-Z0-9_]*)=\"");
    static const std::regex value(R"re("(?:[^"\\]|\\.)*")re");
    const std::string names = std::regex_replace(labels, value, "\"");
    std::set<std::string> own;
    for (std::sregex_iterator name(names.begin(), names.end(), label), end; name != end; ++name) {
      EXPECT_TRUE(own.insert((*name)[1]).second) << "a label twice: " << labels;
    }
  }

  std::string family_;
  std::set<std::string> helped_;
  std::set<std::string> typed_;
  std::set<std::string> seen_;
};

}  // namespace chokepoint::metrics
