#include "analysis/export/perfetto/perfetto.h"

#include "analysis/export/perfetto/node_tracks.h"
#include "analysis/export/perfetto/trace_writer.h"
#include "analysis/export/perfetto/tracks.h"

namespace chokepoint::analysis {
namespace {

class NodeTrace {
 public:
  NodeTrace(ExportedRun& run, const Links& links, std::size_t node, TraceWriter& trace,
            const cli::Output& out)
      : run_(run),
        node_(node),
        out_(out),
        places_(run, node, trace),
        job_(run, links, places_, trace),
        flows_(places_, trace),
        host_(run, places_, trace) {}

  // The job first: viewers show what is described first at the top.
  void write() {
    put<record::Step>(job_);
    put<record::Collective>(job_);
    put<record::Session>(host_);
    put<record::Event>(host_);
    put<record::Probe>(host_);
    put<record::FlowSample>(flows_);
    put<record::SocketSample>(flows_);
    flows_.finish();
    put<record::CounterSample>(host_);
    put<record::GaugeSample>(host_);
    host_.finish();
  }

  std::uint64_t left_out() const { return job_.left_out(); }

 private:
  template <class Row, class Tracks>
  void put(Tracks& tracks) {
    run_.each<Row>(node_, [&](const Row& row) {
      if (!out_.failed()) {
        tracks.add(row);
      }
    });
  }

  ExportedRun& run_;
  std::size_t node_;
  const cli::Output& out_;
  Places places_;
  JobTracks job_;
  FlowTracks flows_;
  HostTracks host_;
};

}  // namespace

TraceFigures write_perfetto(ExportedRun& run, cli::Output& out) {
  TraceWriter trace(out);
  trace.clock(run.clock().start_wall_ns());
  const Links links(run);
  TraceFigures figures;
  for (std::size_t node = 0; node < run.nodes(); ++node) {
    NodeTrace of_node(run, links, node, trace, out);
    of_node.write();
    figures.left_out += of_node.left_out();
  }
  figures.events = trace.events();
  return figures;
}

}  // namespace chokepoint::analysis
