#include "analysis/attribution/hosts.h"

#include "base/record/names.h"

namespace chokepoint::analysis {
namespace {

constexpr double kWaitsLong = 25;      // percent of the time
constexpr double kWaitsMostly = 0.75;  // of the time in which it wanted to run
constexpr double kFull = 92;           // percent of one core

double percent_of(const SeriesData& series, Span span) {
  return span.length_ns() <= 0
             ? 0
             : 100 * growth(series, span).value_or(0) / static_cast<double>(span.length_ns());
}

std::string thread_of(const std::string& subject) {
  const std::size_t slash = subject.find('/');
  return slash == std::string::npos ? subject : subject.substr(slash + 1);
}

void take_thread(const NodeData& node, const SeriesData& waits, Span span, HostLoad& load) {
  const SeriesData* works = node.find(record::kThreadCpu, waits.row.subject);
  const double waited = percent_of(waits, span);
  const double worked = works == nullptr ? 0 : percent_of(*works, span);
  if (waited > kWaitsLong && waited > kWaitsMostly * (waited + worked)) {
    load.is_starved = true;
  }
  if (waited > load.waited_percent) {
    load.waited_percent = waited;
    load.waiting_thread = thread_of(waits.row.subject);
  }
  // Gloo's loop moves all data; of other threads a full one may just compute.
  if (works != nullptr && waits.row.subject.ends_with("(epoll)") && worked > load.busiest_percent) {
    load.busiest_percent = worked;
    load.busiest_thread = thread_of(waits.row.subject);
  }
}

}  // namespace

bool HostLoad::is_at_limit() const {
  return is_starved || busiest_percent > kFull || softirq_percent > kFull;
}

const char* HostLoad::cause() const {
  return !is_starved && softirq_percent > busiest_percent ? "softirq" : "process-cpu";
}

HostLoad load_of(const NodeData& node, Span span) {
  HostLoad load;
  for (const SeriesData* waits : node.find(record::kThreadWait)) {
    take_thread(node, *waits, span, load);
  }
  for (const SeriesData* softirq : node.find(record::kCpuSoftirq)) {
    const double percent = percent_of(*softirq, span);
    if (softirq->row.subject != "all" && percent > load.softirq_percent) {
      load.softirq_percent = percent;
      load.softirq_core = softirq->row.subject;
    }
  }
  return load;
}

}  // namespace chokepoint::analysis
