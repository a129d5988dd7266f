#include "capture/commands/recording.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

namespace chokepoint::capture {

void define(cli::Flags& flags, RecordFlags& record) {
  flags.group("What to keep")
      .option("record", &record.folder, "DIR", "keep flows and their course in this run record")
      .option("node", &record.node, "NAME", "this host's name in the record, if not its own");
}

Result<std::unique_ptr<Recording>> Recording::open(const RecordFlags& flags,
                                                   std::vector<packet::Address> own_addresses,
                                                   bool is_live, const cli::Context& context) {
  Result<std::unique_ptr<record::Writer>> writer = record::Writer::open(
      {.folder = flags.folder, .node = flags.node, .role = "capture", .program = context.version},
      context.root, context.clock);
  if (!writer) {
    return std::unexpected(writer.error());
  }
  return std::unique_ptr<Recording>(
      new Recording(std::move(*writer),
                    {.wall_to_monotonic_ns = context.clock.monotonic_ns() - context.clock.wall_ns(),
                     .own_addresses = std::move(own_addresses),
                     .is_live = is_live}));
}

Recording::Recording(std::unique_ptr<record::Writer> writer, observer::RecorderOptions options)
    : writer_(std::move(writer)),
      options_(std::move(options)),
      collectives_(*writer_, connections_, options_.wall_to_monotonic_ns) {
  options_.connections = &connections_;
}

observer::FlowListener* Recording::listener() {
  recorders_.push_back(std::make_unique<observer::Recorder>(*writer_, options_));
  return recorders_.back().get();
}

Result<> Recording::finish(const observer::Observer& observer, const cli::Context& context) {
  for (std::size_t i = 0; i < recorders_.size(); ++i) {
    recorders_[i]->finish(*observer.analysers()[i]);
  }
  const std::string path = writer_->path();
  const record::WriterStatus status = writer_->close();
  if (status.trouble) {
    return std::unexpected(*status.trouble);
  }
  if (status.dropped > 0) {
    return fail(ErrorKind::Exhausted, "record", path,
                fmt::format("{} rows could not be kept", status.dropped),
                "fewer flows fit: give a filter, or another disk");
  }
  if (!context.quiet) {
    fmt::print(context.err, "kept in {}\n", path);
  }
  return {};
}

}  // namespace chokepoint::capture
