// What all stores of a history have in common: which parts of a row they keep, and which rows they
// accept when reading. Pure; any thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/history/store.h"

namespace chokepoint::history {

// The rest of a text that is longer is of no use to anybody.
inline constexpr std::size_t kMaxTextBytes = 4096;
inline std::string_view bounded(const std::string& text) {
  return std::string_view(text).substr(0, kMaxTextBytes);
}

// As JSON; a text that is none in UTF-8 is made one.
std::string settings_text(const host::Settings& settings);
// Empty of a text that is not of that form.
host::Settings settings_of(const std::string& text);

// What was read of a host, whatever its values: commands read more or less of it, and what one did
// not read is no change.
std::int64_t shape_of(const host::Settings& settings);

// Nothing where the texts make no sense: they are foreign.
std::optional<Series> series_of(Series series, std::string_view kind, std::int64_t better);

bool is_wanted(const Series& series, const Wanted& wanted);

// Spans of states, of the contents and then of the rows that name them; a row that makes no sense
// is left out.
class StateReader {
 public:
  void add_content(std::int64_t id, const std::string& settings);
  void add(StateSpan span, std::int64_t content);
  std::vector<StateSpan> take() { return std::move(spans_); }

 private:
  std::map<std::int64_t, std::shared_ptr<const host::Settings>> contents_ = {};
  std::vector<StateSpan> spans_ = {};
};

// The statement that removes of each series all rows of a day but one, before `until_ns`, the begin
// of a day. Which one stays depends on its time alone,
// and may be of any hour: rows that stay vary as all did, so that the border to denser rows does
// not look like a change, as it would beside medians.
std::string sql_that_thins(std::string_view table, std::int64_t until_ns);

inline constexpr std::int64_t kDayNs = 86'400'000'000'000;

// A history of a newer program may have other tables: it is left alone.
Error newer_history(std::int64_t version, std::int64_t known);

}  // namespace chokepoint::history
