#include "analysis/load/table_places.h"

#include <algorithm>

namespace chokepoint::analysis {
namespace {

constexpr std::size_t kPackets = 0;
constexpr std::size_t kSockets = 1;

}  // namespace

Result<TablePlaces> TablePlaces::open(record::Reader& reader) {
  TablePlaces places;
  std::optional<Error> failure;
  const auto open_one = [&]<class Row>() {
    Result<record::TimeSearch> search = reader.search<Row>();
    if (search) {
      places.searches_.push_back(std::move(*search));
    } else {
      failure = search.error();
    }
  };
  [&]<std::size_t... Index>(std::index_sequence<Index...>) {
    (open_one.template operator()<std::tuple_element_t<Index, LargeTables>>(), ...);
  }(std::make_index_sequence<kLargeTables>());
  return failure ? fail(*failure) : Result<TablePlaces>(std::move(places));
}

std::int64_t TablePlaces::rows_before(std::size_t table, std::int64_t t_ns) {
  return searches_.at(table).rows_before(t_ns).value_or(0);
}

std::optional<std::int64_t> TablePlaces::detail_from() {
  const auto from = [this](std::size_t table) {
    return searches_.at(table).detail_from().value_or(std::nullopt);
  };
  return std::max(from(kPackets), from(kSockets));
}

}  // namespace chokepoint::analysis
