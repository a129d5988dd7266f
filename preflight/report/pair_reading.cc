#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "preflight/report/columns.h"
#include "preflight/report/json_parts.h"
#include "preflight/report/pair_columns.h"
#include "preflight/report/words.h"

namespace chokepoint::preflight {
namespace {

using cli::Json;

constexpr double kLargestFigure = 1e15;

// The lists of one object. The first one that is not as it must be is kept.
class Lists {
 public:
  Lists(const Json& json, std::size_t count) : json_(json), count_(count) {}

  // take(index, value) says whether the value is one that may stand there; nulls are left out.
  template <class Take>
  void each(const char* name, Take take) {
    const auto at = json_.find(name);
    if (failed_ || at == json_.end() || at->is_null()) {
      return;
    }
    if (!at->is_array() || at->size() != count_) {
      wrong(name, fmt::format("wanted a list of {}", count_));
      return;
    }
    std::size_t index = 0;
    for (const Json& value : *at) {
      if (!value.is_null() && !take(index, value)) {
        wrong(name, fmt::format("entry {} is out of bounds, or no such value", index));
        return;
      }
      ++index;
    }
  }

  Result<> finish() const { return failed_ ? Result<>(std::unexpected(*failed_)) : Result<>(); }

 private:
  void wrong(const char* name, const std::string& reason) {
    failed_ = malformed(name, reason).error();
  }

  const Json& json_;
  std::size_t count_;
  std::optional<Error> failed_;
};

bool take_index(const Json& value, std::size_t end, HostIndex& index) {
  const std::uint64_t number = count_in(value).value_or(end);
  index = static_cast<HostIndex>(std::min<std::uint64_t>(number, end));
  return number < end;
}

bool take_figure(const Json& value, bool may_be_negative, Figure& figure) {
  const double number = value.is_number() ? value.get<double>() : std::nan("");
  const double least = may_be_negative ? -kLargestFigure : 0;
  const bool fits = number >= least && number <= kLargestFigure;
  figure = fits ? Figure(static_cast<float>(number)) : std::nullopt;
  return fits;
}

bool take_count(const Json& value, std::uint32_t& count) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
  const std::optional<std::uint64_t> number = count_in(value);
  count = static_cast<std::uint32_t>(std::min(number.value_or(0), kMost));
  return number && *number <= kMost;
}

template <class T, class Named>
bool take_word(const Json& value, Named named, T& state) {
  const std::optional<T> found =
      value.is_string() ? named(value.get_ref<const std::string&>()) : std::nullopt;
  state = found.value_or(state);
  return found.has_value();
}

Result<> check_order(const std::vector<PairResult>& pairs) {
  for (std::size_t at = 0; at < pairs.size(); ++at) {
    const PairResult& pair = pairs[at];
    const bool is_after =
        at == 0 || std::pair(pairs[at - 1].a, pairs[at - 1].b) < std::pair(pair.a, pair.b);
    if (pair.a >= pair.b || !is_after) {
      return malformed("a, b", fmt::format("pair {} stands in the wrong place, or twice", at));
    }
  }
  return {};
}

Result<> read_ends(const Json& json, std::size_t hosts, std::vector<PairResult>& pairs) {
  Lists lists(json, pairs.size());
  std::vector<bool> has_end(2 * pairs.size());
  for (const auto& [name, end] : {std::pair{"a", &PairResult::a}, std::pair{"b", &PairResult::b}}) {
    const std::size_t offset = end == &PairResult::a ? 0 : pairs.size();
    lists.each(name, [&](std::size_t at, const Json& value) {
      has_end[offset + at] = true;
      return take_index(value, hosts, pairs[at].*end);
    });
  }
  if (std::ranges::find(has_end, false) != has_end.end() && lists.finish()) {
    return malformed("a, b", "each pair needs both of its hosts");
  }
  const Result<> read = lists.finish();
  return read ? check_order(pairs) : read;
}

Result<> read_pair_figures(const Json& json, std::size_t, std::vector<PairResult>& pairs) {
  Lists lists(json, pairs.size());
  for (const auto& column : kPairColumns) {
    lists.each(column.name, [&](std::size_t at, const Json& value) {
      return take_figure(value, column.may_be_negative, pairs[at].*column.figure);
    });
  }
  for (const auto& [name, family] :
       {std::pair{"ipv4", &PairResult::ipv4}, std::pair{"ipv6", &PairResult::ipv6}}) {
    lists.each(name, [&](std::size_t at, const Json& value) {
      return take_word(value, family_state_named, pairs[at].*family);
    });
  }
  return lists.finish();
}

Result<> read_ways(const Json& json, const char* object, WayResult PairResult::* way,
                   std::vector<PairResult>& pairs) {
  const auto place = json.find(object);
  if (place == json.end() || !place->is_object()) {
    return malformed(object, "wanted an object of lists");
  }
  Lists lists(*place, pairs.size());
  for (const auto& column : kWayColumns) {
    lists.each(column.name, [&](std::size_t at, const Json& value) {
      return take_figure(value, column.may_be_negative, pairs[at].*way.*column.figure);
    });
  }
  for (const auto& [name, count] :
       {std::pair{"udp_packets", &WayResult::packets}, std::pair{"udp_lost", &WayResult::lost}}) {
    lists.each(name, [&](std::size_t at, const Json& value) {
      return take_count(value, pairs[at].*way.*count);
    });
  }
  lists.each("tcp_limit", [&](std::size_t at, const Json& value) {
    return take_word(value, tcp_limit_named, (pairs[at].*way).limit);
  });
  return lists.finish();
}

Result<> read_there(const Json& json, std::size_t, std::vector<PairResult>& pairs) {
  return read_ways(json, "there", &PairResult::there, pairs);
}

Result<> read_back(const Json& json, std::size_t, std::vector<PairResult>& pairs) {
  return read_ways(json, "back", &PairResult::back, pairs);
}

Result<std::size_t> length_in(const Json& json, std::size_t hosts) {
  const auto at = json.find("count");
  const std::size_t most = hosts * (hosts - std::min<std::size_t>(hosts, 1)) / 2;
  const auto count = at == json.end() ? std::nullopt : count_in(*at);
  if (!count || *count > most) {
    return malformed("count", fmt::format("wanted at most {} pairs of {} hosts", most, hosts));
  }
  // Before any room is made: a count alone must cost nothing.
  const auto list = json.find("a");
  if (list == json.end() || !list->is_array() || list->size() != *count) {
    return malformed("a", fmt::format("wanted a list of {}", *count));
  }
  return list->size();
}

}  // namespace

Result<std::vector<PairResult>> pairs_in(const Json& json, std::size_t hosts) {
  if (!json.is_object()) {
    return malformed("pairs", "wanted an object of lists");
  }
  TRY(const std::size_t count, length_in(json, hosts));
  std::vector<PairResult> pairs(count);
  for (const auto& read : {read_ends, read_pair_figures, read_there, read_back}) {
    TRY(read(json, hosts, pairs));
  }
  return pairs;
}

}  // namespace chokepoint::preflight
