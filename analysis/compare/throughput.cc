#include "analysis/compare/throughput.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "analysis/compare/order.h"
#include "analysis/load/run_summary.h"

namespace chokepoint::analysis {
namespace {

// From the second row on that says how many samples it had.
std::optional<double> rate_of(const StepRows& rows) {
  double samples = 0;
  double busy = 0;
  std::vector<const record::Step*> telling = rows.rows;
  std::erase_if(telling, [](const record::Step* row) { return !row->samples.known(); });
  for (std::size_t at = telling.size() > 1 ? 1 : 0; at < telling.size(); ++at) {
    samples += static_cast<double>(telling[at]->samples.value());
    busy += busy_ms(*telling[at]);
  }
  return samples > 0 && busy > 0 ? std::optional(samples / busy * 1e3) : std::nullopt;
}

struct Rates {
  std::optional<record::StepSource> source = {};
  double sum = 0;
  double most = 0;
  int count = 0;
};

Rates rates_of(const std::vector<StepRows>& all) {
  Rates rates;
  for (const StepRows& rows : all) {
    const std::optional<double> rate = rate_of(rows);
    if (!rate || (rates.source && *rates.source < rows.source)) {
      continue;
    }
    if (rates.source != rows.source) {
      rates = {.source = rows.source};
    }
    rates.sum += *rate;
    rates.most = std::max(rates.most, *rate);
    ++rates.count;
  }
  return rates;
}

bool share_samples(const Labels& labels) {
  const auto label = labels.find("parallelism");
  const ParallelKind kind =
      label == labels.end() ? ParallelKind::Unknown : parallel_kind_of(label->second);
  return kind == ParallelKind::Tensor || kind == ParallelKind::Pipeline;
}

}  // namespace

std::optional<double> number_of(const Labels& labels, const std::string& key) {
  const auto label = labels.find(key);
  if (label == labels.end()) {
    return std::nullopt;
  }
  const std::string& text = label->second;
  double value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_whole = read.ec == std::errc() && read.ptr == text.data() + text.size();
  return is_whole && value > 0 && value < 1e15 ? std::optional(value) : std::nullopt;
}

std::optional<Told> samples_per_s(const std::vector<StepRows>& all, const Labels& labels,
                                  const std::string& samples_label,
                                  std::optional<double> mean_step_ms) {
  const std::optional<double> each = number_of(labels, samples_label);
  if (each && mean_step_ms.value_or(0) > 0) {
    return Told{*each / *mean_step_ms * 1e3,
                fmt::format("label {} over the mean step", samples_label)};
  }
  const Rates rates = rates_of(all);
  if (!rates.source) {
    return std::nullopt;
  }
  const char* source = name_of(*rates.source);
  if (rates.count == 1) {
    return Told{rates.sum, fmt::format("samples of steps from {}", source)};
  }
  return share_samples(labels)
             ? Told{rates.most, fmt::format("samples of steps from {}, the most of {} ranks: all "
                                            "work on the same",
                                            source, rates.count)}
             : Told{rates.sum,
                    fmt::format("samples of steps from {}, of {} ranks", source, rates.count)};
}

}  // namespace chokepoint::analysis
