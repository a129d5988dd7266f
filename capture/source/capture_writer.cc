#include "capture/source/capture_writer.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "capture/source/pcap.h"
#include "capture/source/pcapng.h"

namespace chokepoint::capture::source {
namespace {

constexpr std::chrono::seconds kBetweenFlushes{1};

// "runs/a.pcap.zst", 2 → "runs/a-0002.pcap.zst"
std::string numbered(const std::string& path, std::size_t number) {
  std::filesystem::path stem = path;
  std::string ending;
  while (stem.extension() == ".zst" || (stem.has_extension() && !ending.contains(".pcap"))) {
    ending = stem.extension().string() + ending;
    stem.replace_extension();
  }
  return fmt::format("{}-{:04}{}", stem.string(), number, ending);
}

// What a packet takes in either format: at most.
std::size_t encoded_bytes(const packet::Frame& frame) {
  constexpr std::size_t kMaxOverhead = 32 + 3;
  return frame.captured_bytes + kMaxOverhead;
}

bool rotates(const WriteOptions& options) {
  return options.file_bytes > 0 || options.file_time.count() > 0;
}

}  // namespace

std::string capture_path(const WriteOptions& options, std::size_t number) {
  return rotates(options) ? numbered(options.path, number) : options.path;
}

Result<sys::Descriptor> open_capture(const WriteOptions& options, std::size_t number) {
  return open_capture_file(capture_path(options, number),
                           rotates(options) ? CaptureName::Ours : CaptureName::OfUser);
}

Result<CaptureWriter> CaptureWriter::create(WriteOptions options) {
  CaptureWriter writer(std::move(options));
  TRY(writer.next_file());
  return writer;
}

Result<> CaptureWriter::next_file() {
  if (file_) {
    TRY(file_->finish());
  }
  const std::size_t number = paths_.size() + 1;
  const std::string path = capture_path(options_, number);
  TRY(sys::Descriptor descriptor,
      options_.open_next ? options_.open_next() : open_capture(options_, number));
  file_.emplace(path, std::move(descriptor));
  paths_.push_back(file_->path());
  begun_ = false;
  interfaces_described_ = 0;
  file_since_ns_.reset();
  drops_.clear();
  return {};
}

void CaptureWriter::begin(const std::vector<Interface>& interfaces) {
  begun_ = true;
  if (!kind_) {
    const bool named = options_.path.find(".pcapng") != std::string::npos;
    kind_ = named || interfaces.size() > 1 ? Kind::Pcapng : Kind::Pcap;
  }
  if (*kind_ == Kind::Pcapng) {
    append_pcapng_head(*file_);
    describe(interfaces);
  } else {
    append_pcap_head(*file_, interfaces.front());
  }
}

void CaptureWriter::describe(const std::vector<Interface>& interfaces) {
  while (*kind_ == Kind::Pcapng && interfaces_described_ < interfaces.size()) {
    append_pcapng_interface(*file_, interfaces[interfaces_described_]);
    ++interfaces_described_;
  }
}

bool CaptureWriter::is_full(const packet::Frame& frame) const {
  const bool large =
      options_.file_bytes > 0 && file_->size() + encoded_bytes(frame) > options_.file_bytes;
  const bool old =
      options_.file_time.count() > 0 &&
      frame.time_ns - file_since_ns_.value_or(frame.time_ns) >= options_.file_time.count();
  return large || old;
}

Result<> CaptureWriter::add_frame(const packet::Frame& frame,
                                  const std::vector<Interface>& interfaces) {
  if (rotates(options_) && file_since_ns_ && is_full(frame)) {
    TRY(next_file());
    begin(interfaces);
  }
  if (!file_since_ns_) {
    file_since_ns_ = frame.time_ns;
  }
  if (*kind_ == Kind::Pcapng) {
    append_pcapng_packet(*file_, frame);
  } else if (frame.link_type == interfaces.front().link_type) {
    append_pcap_packet(*file_, frame);
  } else {
    return fail(ErrorKind::Unsupported, "write capture", file_->path(),
                "pcap holds one link type, and another has come",
                "give the file a name that ends in .pcapng");
  }
  ++packets_;
  return {};
}

void CaptureWriter::add_drops(const Batch& batch) {
  for (const Drop& drop : batch.drops) {
    if (drop.interface >= drops_.size()) {
      drops_.resize(drop.interface + 1);
    }
    Drop& total = drops_[drop.interface];
    total.time_ns = drop.time_ns;
    total.interface = drop.interface;
    total.by_kernel += drop.by_kernel;
    total.by_interface += drop.by_interface;
    if (begun_ && *kind_ == Kind::Pcapng) {
      append_pcapng_drops(*file_, total);
    }
  }
}

Result<> CaptureWriter::add_all(const Batch& batch, const std::vector<Interface>& interfaces) {
  if (begun_) {
    describe(interfaces);
  } else if (!interfaces.empty()) {
    begin(interfaces);
  }
  for (const packet::Frame& frame : batch.frames) {
    TRY(add_frame(frame, interfaces));
  }
  add_drops(batch);
  const auto now = std::chrono::steady_clock::now();
  if (now - flushed_at_ >= kBetweenFlushes) {
    flushed_at_ = now;
    return file_->flush();
  }
  return file_->error() ? fail(*file_->error()) : Result<>{};
}

Result<> CaptureWriter::add(const Batch& batch, const std::vector<Interface>& interfaces) {
  return failed_ ? Result<>{} : once(add_all(batch, interfaces));
}

Result<> CaptureWriter::finish() {
  if (failed_) {
    return {};
  }
  if (!begun_) {
    begin({Interface{}});
  }
  return once(file_->finish());
}

Result<> CaptureWriter::once(Result<> outcome) {
  failed_ = !outcome;
  return outcome;
}

}  // namespace chokepoint::capture::source
