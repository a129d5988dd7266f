#include "analysis/export/exported_run.h"

#include <algorithm>

namespace chokepoint::analysis {
namespace {

constexpr std::uint64_t kRowsALook = 1 << 12;

template <class Row>
std::int64_t rows_of(record::Reader& reader) {
  Result<record::TimeSearch> search = reader.search<Row>();
  return search ? search->rows_before(kFarNs).value_or(0) : 0;
}

template <class... Rows>
std::int64_t all_rows_of(record::Reader& reader, const std::variant<Rows...>* /*kinds*/) {
  return (rows_of<Rows>(reader) + ...);
}

}  // namespace

ExportedRun::ExportedRun(std::string name, record::Run& records, std::optional<Span> wanted,
                         ExportWatch watch)
    : name_(std::move(name)),
      records_(records),
      watch_(std::move(watch)),
      wanted_(wanted),
      data_(load_run(records)),
      clock_(data_, fit_clocks(data_)),
      total_(count_rows()) {}

std::uint64_t ExportedRun::count_rows() {
  constexpr const record::Sample* kKinds = nullptr;
  std::int64_t rows = 0;
  for (record::Reader& node : records_.nodes) {
    rows += node.damage() ? 0 : all_rows_of(node, kKinds);
  }
  return static_cast<std::uint64_t>(std::max<std::int64_t>(rows, 0));
}

Span ExportedRun::span_of(std::size_t node) const {
  return wanted_ ? clock_.local(node, *wanted_) : Span{-kFarNs, kFarNs};
}

bool ExportedRun::goes_on() {
  if (++rows_ % kRowsALook == 0) {
    watch_.on_rows(rows_, total_);
    is_stopped_ = is_stopped_ || watch_.is_stopped();
  }
  return !is_stopped_;
}

void ExportedRun::note(std::size_t node, const Error& error) {
  if (!data_.nodes[node].damage && noted_.insert(node).second) {
    cut_short_.push_back(error);
  }
}

std::vector<Error> ExportedRun::troubles() const {
  std::vector<Error> troubles = data_.unreadable;
  for (const NodeData& node : data_.nodes) {
    if (node.damage) {
      troubles.push_back(*node.damage);
    }
  }
  troubles.insert(troubles.end(), cut_short_.begin(), cut_short_.end());
  return troubles;
}

}  // namespace chokepoint::analysis
