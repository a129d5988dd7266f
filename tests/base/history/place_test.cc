#include "base/history/place.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <sstream>
#include <string>

#include "base/sys/temporary_folder.h"
#include "tests/fakes/manual_clock.h"

namespace chokepoint::history {
namespace {

std::optional<std::string> place_with(const std::map<std::string, std::string>& environment,
                                      const Flags& history = {}) {
  std::ostringstream out;
  std::ostringstream err;
  const fakes::ManualClock clock;
  const cli::Context context{.out = out,
                             .err = err,
                             .clock = clock,
                             .root = sys::Root("/nowhere"),
                             .environment =
                                 [&](const std::string& name) {
                                   const auto found = environment.find(name);
                                   return found == environment.end() ? std::nullopt
                                                                     : std::optional(found->second);
                                 },
                             .out_terminal = {},
                             .err_terminal = {}};
  return place_of(history, context);
}

TEST(Place, IsInTheUsersStateFolder) {
  const sys::TemporaryFolder home = *sys::TemporaryFolder::make("home");
  const std::string folder = home.path().string();
  EXPECT_EQ(place_with({{"HOME", folder}}), folder + "/.local/state/chokepoint/history.db");
  EXPECT_EQ(place_with({{"HOME", folder}, {"XDG_STATE_HOME", folder + "/state"}}),
            folder + "/state/chokepoint/history.db");
}

TEST(Place, IsNoneWithoutAHome) {
  const sys::TemporaryFolder home = *sys::TemporaryFolder::make("home");
  const std::filesystem::path missing = home.path() / "missing";
  EXPECT_EQ(place_with({}), std::nullopt);
  EXPECT_EQ(place_with({{"HOME", ""}}), std::nullopt);
  EXPECT_EQ(place_with({{"HOME", missing.string()}}), std::nullopt);
  EXPECT_FALSE(std::filesystem::exists(missing));
}

TEST(Place, IsWhatTheUserNames) {
  EXPECT_EQ(place_with({}, {.place = "/a/history.db"}), "/a/history.db");
  EXPECT_EQ(place_with({}, {.place = std::string(kNone)}), std::nullopt);
  EXPECT_EQ(place_with({}, {.place = "/a/history.db", .is_off = true}), std::nullopt);
}

}  // namespace
}  // namespace chokepoint::history
