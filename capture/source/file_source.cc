#include "capture/source/file_source.h"

#include <filesystem>
#include <utility>

namespace chokepoint::capture::source {
namespace {

Error no_capture(const std::string& path, const std::string& flaw, bool empty) {
  const std::string nothing = flaw.empty() ? "the file is empty" : flaw;
  return {.kind = ErrorKind::Malformed,
          .operation = "open capture",
          .subject = path,
          .code = 0,
          .reason = empty ? nothing : "neither pcap nor pcapng",
          .next_step = "'tcpdump -w FILE' or 'chokepoint capture --write FILE' makes one"};
}

}  // namespace

Result<std::unique_ptr<FileSource>> FileSource::over(std::unique_ptr<ByteStream> stream,
                                                     const std::string& path) {
  Window window(std::move(stream));
  const auto head = window.head(kFormatHeadBytes);
  if (window.error()) {
    return fail(*window.error());
  }
  auto recognised = recognise(head, std::filesystem::path(path).filename().string());
  if (recognised.format == nullptr) {
    return fail(no_capture(path, window.flaw(), head.empty()));
  }
  window.skip_head(recognised.head_bytes);
  return std::unique_ptr<FileSource>(
      new FileSource(path, std::move(window), std::move(recognised.format)));
}

Result<Progress> FileSource::read(Batch& batch) {
  batch.clear();
  if (finished_) {
    return end();
  }
  const auto bytes = window_.fill(batch.bytes);
  const Consumed consumed = format_->take(bytes, batch);
  const auto rest = bytes.subspan(consumed.bytes);
  packets_ += batch.frames.size();
  window_.keep(rest, consumed.wanted);
  const bool full = consumed.wanted == 0;
  if (consumed.broken.empty() && (full || !window_.ended())) {
    return Progress::More;
  }
  finished_ = true;
  remark(consumed.broken, !rest.empty());
  return batch.frames.empty() ? end() : Progress::More;
}

Result<Progress> FileSource::end() const {
  if (window_.error()) {
    return fail(*window_.error());
  }
  return Progress::End;
}

void FileSource::remark(const std::string& broken, bool inside_packet) {
  const std::string after =
      ", after " + std::to_string(packets_) + (packets_ == 1 ? " packet" : " packets");
  if (!broken.empty()) {
    remarks_.push_back(path_ + " is damaged: " + broken + after);
  } else if (const std::string flaw = window_.flaw(); !flaw.empty()) {
    remarks_.push_back(path_ + ": " + flaw + after);
  } else if (inside_packet) {
    remarks_.push_back(path_ + " ends inside a packet" + after);
  }
}

}  // namespace chokepoint::capture::source
