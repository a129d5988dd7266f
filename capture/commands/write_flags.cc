#include "capture/commands/write_flags.h"

namespace chokepoint::capture {

void define(cli::Flags& flags, WriteFlags& write) {
  flags.group("What to write")
      .option("write,w", &write.path, "FILE",
              "the packets, too: pcap, or pcapng for '.pcapng' and for several interfaces; "
              "compressed for '.zst'; '-': standard output")
      .option("rotate-size", &write.file_bytes, "SIZE", "the next file after so much")
      .option("rotate-time", &write.file_time, "TIME", "the next file after so long");
}

Result<std::unique_ptr<source::CaptureWriter>> open(const WriteFlags& flags) {
  const bool rotates = flags.file_bytes.count > 0 || flags.file_time.count() > 0;
  if (flags.path.empty() || flags.path == "-") {
    if (rotates) {
      return fail(ErrorKind::Usage, "", "--rotate-size, --rotate-time", "need --write FILE");
    }
    if (flags.path.empty()) {
      return nullptr;
    }
  }
  Result<source::CaptureWriter> writer = source::CaptureWriter::create(
      {.path = flags.path, .file_bytes = flags.file_bytes.count, .file_time = flags.file_time});
  if (!writer) {
    return std::unexpected(writer.error());
  }
  return std::make_unique<source::CaptureWriter>(std::move(*writer));
}

}  // namespace chokepoint::capture
