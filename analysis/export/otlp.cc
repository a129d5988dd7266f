#include "base/otlp/otlp.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/export/formats.h"

namespace chokepoint::analysis {
namespace {

class OtlpRun {
 public:
  OtlpRun(ExportedRun& run, const Diagnosis& diagnosis, const std::string& version, otlp::Form form,
          const OnOtlp& on_document)
      : run_(run),
        name_(otlp::run_name(run.name())),
        diagnosis_(diagnosis),
        form_(form),
        on_document_(on_document),
        resource_{
            .attributes = {{"service.name", std::string("chokepoint")}, {"chokepoint.run", name_}},
            .program_version = version},
        trace_(otlp::trace_of(fmt::format("{} {}", name_, run.clock().start_wall_ns()))),
        root_(otlp::span_of(name_)) {}

  std::uint64_t write() {
    for (const auto& [key, value] : diagnosis_.labels) {
      resource_.attributes.emplace_back("chokepoint.label." + key, value);
    }
    if (on_document_(otlp::Signal::Metrics, metrics())) {
      add_run();
      for (std::size_t node = 0; node < run_.nodes() && goes_on_; ++node) {
        add_node(node);
      }
      flush();
    }
    return written_;
  }

 private:
  std::int64_t end_wall_ns() const {
    std::int64_t end_ns = run_.clock().start_wall_ns();
    for (std::size_t node = 0; node < run_.nodes(); ++node) {
      end_ns = std::max(end_ns, end_of(node));
    }
    return end_ns;
  }

  // Of a record without an end its last step's.
  std::int64_t end_of(std::size_t place) const {
    const NodeData& node = run_.data().nodes[place];
    if (node.span.end_ns < kFarNs) {
      return run_.clock().wall_ns(place, node.span.end_ns);
    }
    return node.steps.empty() ? run_.clock().start_wall_ns()
                              : run_.clock().wall_ns(place, node.steps.back().end_ns);
  }

  std::string metrics() const {
    const auto points =
        otlp::points_of(metrics_of(run_, diagnosis_), run_.clock().start_wall_ns(), end_wall_ns());
    return otlp::metrics_document(resource_, points, form_);
  }

  void add_run() {
    const Verdict& verdict = diagnosis_.verdict;
    add({.trace = trace_,
         .id = root_,
         .name = "run",
         .start_ns = run_.clock().start_wall_ns(),
         .end_ns = end_wall_ns(),
         .attributes = {{"chokepoint.verdict", std::string(name_of(verdict.verdict))},
                        {"chokepoint.cause", std::string(name_of(verdict.cause))},
                        {"chokepoint.lost_ms_per_step", verdict.lost_ms_per_step},
                        {"chokepoint.confidence", verdict.confidence}}});
  }

  void add_node(std::size_t place) {
    const NodeData& node = run_.data().nodes[place];
    const std::uint64_t own = otlp::span_of(name_ + " node " + node.name);
    otlp::Attributes attributes{{"host.name", node.host.empty() ? node.name : node.host},
                                {"chokepoint.node", node.name}};
    if (node.exit_status) {
      attributes.emplace_back("process.exit.code", *node.exit_status);
    }
    add({.trace = trace_,
         .id = own,
         .parent = root_,
         .name = "node " + node.name,
         .start_ns = run_.clock().wall_ns(place, node.span.start_ns),
         .end_ns = end_of(place),
         .attributes = std::move(attributes)});
    run_.each<record::Step>(place, [&](const record::Step& step) { add_step(place, own, step); });
  }

  // A record has the steps of several sources; those that the verdict stands on are exported.
  void add_step(std::size_t place, std::uint64_t parent, const record::Step& step) {
    if (!goes_on_ || step.source != diagnosis_.steps.source) {
      return;
    }
    const std::string& node = run_.data().nodes[place].name;
    otlp::Attributes attributes{{"chokepoint.node", node},
                                {"chokepoint.step.source", std::string(word_of(step.source))},
                                {"chokepoint.step.number", step.number}};
    if (step.rank.known()) {
      attributes.emplace_back("chokepoint.rank", step.rank.value());
    }
    if (step.merged > 1) {
      attributes.emplace_back("chokepoint.step.merged", step.merged);
    }
    add({.trace = trace_,
         .id = otlp::span_of(fmt::format("{} {} {} {} {}", name_, node, step.start_ns, step.number,
                                         step.rank.known() ? step.rank.value() : -1)),
         .parent = parent,
         .name = "step",
         .start_ns = run_.clock().wall_ns(place, step.start_ns),
         .end_ns = run_.clock().wall_ns(place, step.end_ns),
         .attributes = std::move(attributes)});
  }

  void add(otlp::Span span) {
    spans_.push_back(std::move(span));
    if (spans_.size() >= otlp::kSpansOfDocument) {
      flush();
    }
  }

  void flush() {
    if (!spans_.empty() && goes_on_) {
      goes_on_ =
          on_document_(otlp::Signal::Traces, otlp::traces_document(resource_, spans_, form_));
      written_ += spans_.size();
    }
    spans_.clear();
  }

  ExportedRun& run_;
  std::string name_;
  const Diagnosis& diagnosis_;
  otlp::Form form_;
  const OnOtlp& on_document_;
  otlp::Resource resource_;
  otlp::Id trace_;
  std::uint64_t root_;
  std::vector<otlp::Span> spans_;
  std::uint64_t written_ = 0;
  bool goes_on_ = true;
};

}  // namespace

std::uint64_t write_otlp(ExportedRun& run, const Diagnosis& diagnosis,
                         const std::string& program_version, otlp::Form form,
                         const OnOtlp& on_document) {
  return OtlpRun(run, diagnosis, program_version, form, on_document).write();
}

}  // namespace chokepoint::analysis
