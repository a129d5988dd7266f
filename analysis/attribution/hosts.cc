#include "analysis/attribution/hosts.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>

#include "analysis/attribution/findings.h"
#include "base/record/names.h"
#include "base/sys/number.h"

namespace chokepoint::analysis {
namespace {

// Thresholds of "A host that gets no processor" in docs/internals/attribution.md.
constexpr double kMinWaitingPercent = 25;  // of the time, that a thread was ready and not running
constexpr double kMinWaitingShare = 0.75;  // of the time in which the thread was ready or ran
constexpr double kMinFirstThreadWaitingPercent = 15;  // of the time, of a rank's first thread
constexpr double kMinCoreWaitShare = 0.5;  // of the time, in which some task waited for a core
constexpr double kFullCorePercent = 92;    // of one core: it counts as full
constexpr double kMinTakenPercent = 10;    // of one core, to be named as taking the processors
constexpr std::size_t kMaxConsumers = 3;

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
  if (waited > kMinWaitingPercent && waited > kMinWaitingShare * (waited + worked)) {
    load.is_starved = true;
  }
  if (waited > load.waited_percent) {
    load.waited_percent = waited;
    load.waiting_thread = thread_of(waits.row.subject);
  }
  // Gloo's epoll thread moves all data; any other busy thread may just compute.
  if (works != nullptr && waits.row.subject.ends_with("(epoll)") && worked > load.busiest_percent) {
    load.busiest_percent = worked;
    load.busiest_thread = thread_of(waits.row.subject);
  }
}

}  // namespace

bool HostLoad::is_at_limit() const {
  return is_starved || busiest_percent > kFullCorePercent || softirq_percent > kFullCorePercent;
}

Cause HostLoad::cause() const {
  return !is_starved && softirq_percent > busiest_percent ? Cause::Softirq : Cause::ProcessCpu;
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

std::vector<Restraint> cpu_consumers(const NodeData& node, Span span) {
  std::vector<Restraint> consumers;
  for (const SeriesData* taken : node.find(record::kOthersCpu)) {
    const double percent = percent_of(*taken, span);
    if (percent >= kMinTakenPercent) {
      consumers.push_back({taken->row.subject, percent});
    }
  }
  std::ranges::sort(consumers, std::ranges::greater{}, &Restraint::percent);
  consumers.resize(std::min(consumers.size(), kMaxConsumers));
  return consumers;
}

std::optional<Restraint> throttled_cgroup(const NodeData& node, Span span) {
  Restraint most;
  for (const SeriesData* held : node.find(record::kThrottled)) {
    const double percent = percent_of(*held, span);
    if (percent >= kMinTakenPercent && percent > most.percent) {
      most = {held->row.subject, percent};
    }
  }
  return most.percent > 0 ? std::optional(most) : std::nullopt;
}

void add_starvation(const NodeData& node, Span span, const HostLoad& load,
                    std::vector<Evidence>& evidence) {
  evidence.push_back({"thread " + load.waiting_thread + " was runnable but got no processor",
                      load.waited_percent, "% of the time", "thread.wait_ns of " + node.name});
  if (const auto quota = throttled_cgroup(node, span)) {
    evidence.push_back({"held back by the processor quota of cgroup " + quota->name, quota->percent,
                        "% of a core", "cgroup.throttled_ns of " + node.name});
  }
  for (const Restraint& consumer : cpu_consumers(node, span)) {
    evidence.push_back({"processor time that " + consumer.name + " took, which is not of the job",
                        consumer.percent, "% of a core", "others.cpu_ns of " + node.name});
  }
}

double remark_processors(const DiagnosisInput& input, Verdict& computing) {
  HostLoad worst{.waited_percent = kMinFirstThreadWaitingPercent};
  const NodeData* of_node = nullptr;
  Span of_span;
  for (std::size_t place = 0; place < input.run.nodes.size(); ++place) {
    const NodeData& node = input.run.nodes[place];
    const Span span = input.span_of(place);
    for (const SeriesData* waits : node.find(record::kThreadWait)) {
      const double waited = percent_of(*waits, span);
      if (waits->row.subject.ends_with("(main)") && waited > worst.waited_percent &&
          (!cpu_consumers(node, span).empty() || throttled_cgroup(node, span) ||
           core_wait_share(node) > kMinCoreWaitShare)) {
        worst = {.waited_percent = waited, .waiting_thread = thread_of(waits->row.subject)};
        of_node = &node;
        of_span = span;
      }
    }
  }
  if (of_node != nullptr) {
    computing.cause = Cause::ProcessCpu;
    computing.where.node = of_node->name;
    add_starvation(*of_node, of_span, worst, computing.evidence);
  }
  return of_node == nullptr ? 0 : worst.waited_percent;
}

const record::Fact* fact_of(const NodeData& node, std::string_view category,
                            std::string_view subject, std::string_view key) {
  for (const record::Fact& fact : node.facts | std::views::reverse) {
    if (fact.category == category && fact.subject == subject && fact.key == key) {
      return &fact;
    }
  }
  return nullptr;
}

std::string fact_text(const NodeData& node, std::string_view category, const std::string& subject,
                      std::string_view key) {
  const record::Fact* fact = fact_of(node, category, subject, key);
  return fact == nullptr ? "" : fact->value;
}

std::optional<double> fact_number(const NodeData& node, std::string_view category,
                                  const std::string& subject, std::string_view key) {
  constexpr double kMaxFact = 1e18;  // no fact is negative or larger; such a record is broken
  const auto number = sys::parse_non_negative<double>(fact_text(node, category, subject, key));
  return number && *number <= kMaxFact ? number : std::nullopt;
}

double grown(const NodeData& node, std::string_view name, std::string_view subject, Span span) {
  const SeriesData* series = node.find(name, subject);
  return series == nullptr ? 0 : growth(*series, span).value_or(0);
}

std::optional<double> last_level(const NodeData& node, std::string_view name,
                                 std::string_view subject) {
  const SeriesData* series = node.find(name, subject);
  return series == nullptr || series->readings.empty()
             ? std::nullopt
             : std::optional(series->readings.back().value);
}

std::set<std::string> job_gpus(const NodeData& node, Span span) {
  constexpr double kMinGpuLoadPercent = 10;
  std::set<std::string> gpus;
  for (const record::Event& event : node.events) {
    if (event.kind == record::kGpuProcess) {
      gpus.insert(event.subject);
    }
  }
  if (gpus.empty() && node.has_collectives_of(record::CollectiveSource::Nccl)) {
    for (const SeriesData* load : node.find(record::kGpuUtilization)) {
      if (mean_level(*load, span).value_or(0) >= kMinGpuLoadPercent) {
        gpus.insert(load->row.subject);
      }
    }
  }
  return gpus;
}

std::vector<Held> levels_over(const SeriesData& level, Span span) {
  std::vector<Held> held;
  for (std::size_t i = 0; i < level.readings.size(); ++i) {
    const bool is_last = i + 1 == level.readings.size();
    const std::int64_t until_ns = is_last ? span.end_ns : level.readings[i + 1].t_ns;
    const Span part{std::max(span.start_ns, level.readings[i].t_ns),
                    std::min(span.end_ns, until_ns)};
    if (part.length_ns() > 0) {
      held.push_back({part, level.readings[i].value});
    }
  }
  return held;
}

double kernels_percent_of(const NodeData& node, std::string_view gpu, Span span) {
  const auto kernels = mean_over(node, record::kGpuKernels, gpu, span);
  return kernels ? *kernels : mean_over(node, record::kGpuUtilization, gpu, span).value_or(0);
}

std::optional<double> mean_over(const NodeData& node, std::string_view name,
                                std::string_view subject, Span span) {
  const SeriesData* series = node.find(name, subject);
  return series == nullptr ? std::nullopt : mean_level(*series, span);
}

// A job on one host that waits: for its next batch, a disk, a lock. What worked for it is known
// from the GPUs' counters and its threads' processor time; in the rest of the step it was idle. A
// thread that waits for its GPU spins, so the two overlap and the larger of them counts.

namespace {

// Of the time, by all threads together: two that work by turns and two that work at once look
// alike, so this is the most that the job's threads covered.
double threads_share(const NodeData& node, Span span) {
  double ran_ns = 0;
  for (const SeriesData* thread : node.find(record::kThreadCpu)) {
    ran_ns += growth(*thread, span).value_or(0);
  }
  return std::min(1.0, ran_ns / static_cast<double>(std::max<std::int64_t>(span.length_ns(), 1)));
}

// The part in which one thread, or those of one name that take turns, ran or waited for a core.
double ready_share(const NodeData& node, Span span) {
  double most_ns = 0;
  for (const SeriesData* waits : node.find(record::kThreadWait)) {
    const SeriesData* ran = node.find(record::kThreadCpu, waits->row.subject);
    most_ns = std::max(most_ns, growth(*waits, span).value_or(0) +
                                    (ran == nullptr ? 0 : growth(*ran, span).value_or(0)));
  }
  return std::min(1.0, most_ns / static_cast<double>(std::max<std::int64_t>(span.length_ns(), 1)));
}

double kernels_share(const NodeData& node, Span span) {
  double most_percent = 0;
  for (const std::string& gpu : job_gpus(node, span)) {
    most_percent = std::max(most_percent, kernels_percent_of(node, gpu, span));
  }
  return std::min(1.0, most_percent / 100);
}

}  // namespace

void add_idleness(const DiagnosisInput& input, Findings& findings) {
  const NodeData& node = input.run.nodes.front();
  const Span span = input.span_of(0);
  const double step_ms = input.phases.step_ms;
  const double threads = std::max(threads_share(node, span), ready_share(node, span));
  const double kernels = kernels_share(node, span);
  const double copies_ms = findings.accounting[Account::Pcie];
  const double worked_ms = std::max(threads * step_ms, kernels * step_ms + copies_ms);
  const double idle_ms =
      std::clamp(step_ms - worked_ms, 0.0, input.phases.computing_ms - findings.of_computing_ms);
  findings.of_computing_ms += idle_ms;
  findings.hints.push_back({"neither a GPU nor a thread of the job worked", idle_ms, "ms a step",
                            "thread.cpu_ns, gpu.kernels_percent of " + node.name});
  findings.hints.push_back({"its threads ran, or waited for a core, at most", 100 * threads,
                            "% of the time", "thread.cpu_ns of " + node.name});
}

}  // namespace chokepoint::analysis
