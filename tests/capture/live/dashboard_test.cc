// Grafana's dashboard against what --metrics serves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <set>

#include <nlohmann/json.hpp>

#include "capture/live/metrics.h"
#include "tests/capture/live/figures.h"

namespace chokepoint::capture::live {
namespace {

using nlohmann::json;
using testing::Contains;

Figures all_figures() {
  Figures figures = training();
  figures.counters.gpu_percent = 50;
  figures.counters.busiest_thread_percent = 80;
  figures.counters.busiest_thread = "python3";
  return figures;
}

class Dashboard : public testing::Test {
 protected:
  void SetUp() override {
    std::ifstream file(CHOKEPOINT_FIXTURES "/../../packaging/grafana/chokepoint.json");
    dashboard_ = json::parse(file);
  }
  std::vector<std::string> expressions() const {
    std::vector<std::string> found;
    for (const json& panel : dashboard_["panels"]) {
      for (const json& target : panel.value("targets", json::array())) {
        found.push_back(target["expr"]);
      }
    }
    for (const json& variable : dashboard_["templating"]["list"]) {
      if (variable["type"] == "query") {
        found.push_back(variable["query"]["query"]);
      }
    }
    return found;
  }
  json dashboard_;
};

TEST_F(Dashboard, NamesNothingThatIsNotServed) {
  std::map<std::string, std::set<std::string>> served;  // labels by name
  const metrics::MetricText metrics = metrics_of(all_figures());
  for (const metrics::MetricText::Family& family : metrics.families()) {
    served[family.name];
    for (const auto& [name, value] : family.samples.front().labels) {
      served[family.name].insert(name);
    }
  }
  static const std::regex metric("chokepoint_[a-z_]+");
  std::set<std::string> used;
  for (const std::string& expression : expressions()) {
    for (std::sregex_iterator name(expression.begin(), expression.end(), metric), end; name != end;
         ++name) {
      EXPECT_THAT(served, Contains(testing::Key(name->str()))) << expression;
      used.insert(name->str());
    }
  }
  EXPECT_GT(used.size(), 20U);
}

TEST_F(Dashboard, EveryLegendNamesLabelsThatAreThere) {
  std::set<std::string> labels{"node", "job", "instance"};  // joined, or given by Prometheus
  const metrics::MetricText metrics = metrics_of(all_figures());
  for (const metrics::MetricText::Family& family : metrics.families()) {
    for (const auto& [name, value] : family.samples.front().labels) {
      labels.insert(name);
    }
  }
  static const std::regex label(R"(\{\{([a-z_]+)\}\})");
  for (const json& panel : dashboard_["panels"]) {
    for (const json& target : panel.value("targets", json::array())) {
      const std::string legend = target["legendFormat"];
      for (std::sregex_iterator name(legend.begin(), legend.end(), label), end; name != end;
           ++name) {
        EXPECT_THAT(labels, Contains((*name)[1].str())) << legend;
      }
    }
  }
}

TEST_F(Dashboard, BracketsAreClosed) {
  for (const std::string& expression : expressions()) {
    std::string open;
    for (const char letter : expression) {
      constexpr std::string_view kOpening = "([{";
      constexpr std::string_view kClosing = ")]}";
      if (kOpening.find(letter) != std::string_view::npos) {
        open += letter;
      } else if (const std::size_t place = kClosing.find(letter); place != std::string_view::npos) {
        ASSERT_FALSE(open.empty()) << expression;
        EXPECT_EQ(open.back(), kOpening[place]) << expression;
        open.pop_back();
      }
    }
    EXPECT_EQ(open, "") << expression;
  }
}

TEST_F(Dashboard, PanelsHaveNumbersAndRoomOfTheirOwn) {
  std::set<int> numbers;
  std::set<std::pair<int, int>> taken;
  for (const json& panel : dashboard_["panels"]) {
    EXPECT_TRUE(numbers.insert(panel["id"].get<int>()).second);
    EXPECT_FALSE(panel["title"].get<std::string>().empty());
    const json& place = panel["gridPos"];
    EXPECT_LE(place["x"].get<int>() + place["w"].get<int>(), 24);
    for (int x = place["x"]; x < place["x"].get<int>() + place["w"].get<int>(); ++x) {
      for (int y = place["y"]; y < place["y"].get<int>() + place["h"].get<int>(); ++y) {
        EXPECT_TRUE(taken.emplace(x, y).second) << panel["title"];
      }
    }
  }
  EXPECT_GT(numbers.size(), 15U);
}

TEST_F(Dashboard, TakesAnyDataSource) {
  std::set<std::string> variables;
  for (const json& variable : dashboard_["templating"]["list"]) {
    variables.insert(variable["name"]);
  }
  EXPECT_THAT(variables, testing::IsSupersetOf({"datasource", "job", "node"}));
  for (const json& panel : dashboard_["panels"]) {
    if (panel["type"] != "row") {
      EXPECT_EQ(panel["datasource"]["uid"], "${datasource}");
      EXPECT_FALSE(panel["targets"].empty());
    }
  }
}

}  // namespace
}  // namespace chokepoint::capture::live
