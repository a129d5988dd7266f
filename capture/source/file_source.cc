#include "capture/source/file_source.h"

#include <pcap/pcap.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "base/sys/descriptor.h"
#include "capture/source/format.h"
#include "capture/source/lanes.h"
#include "capture/source/pcap.h"
#include "capture/source/pcapng.h"

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

// Reads a stream a batch at a time: what a batch could not use (half a packet, or packets beyond
// its number of frames) is kept and stands in front of the next. Fixed memory, except for a packet
// larger than a batch.
class Window {
 public:
  explicit Window(std::unique_ptr<ByteStream> stream) : stream_(std::move(stream)) {}

  // The first bytes of the stream, fewer only if it ends or is interrupted, which error() says.
  // They will be read again.
  std::span<const std::uint8_t> head(std::size_t bytes, const std::string& path, int interrupt) {
    std::size_t filled = kept_.size();
    kept_.resize(std::max(bytes, filled));
    while (filled < bytes && !ended_) {
      const std::size_t count = read(std::span(kept_).subspan(filled));
      filled += count;
      if (count == 0 && interrupt >= 0 && sys::is_readable(interrupt)) {
        error_ = Error{.kind = ErrorKind::Interrupted,
                       .operation = "read capture",
                       .subject = path,
                       .reason = "interrupted before it began"};
        break;
      }
    }
    kept_.resize(filled);
    return kept_;
  }

  void skip_head(std::size_t bytes) {
    kept_.erase(kept_.begin(), kept_.begin() + static_cast<std::ptrdiff_t>(bytes));
  }

  // Fills `bytes` with what was kept and what comes next.
  std::span<const std::uint8_t> fill(std::vector<std::uint8_t>& bytes) {
    const std::size_t size = std::max({kBatchBytes, wanted_, kept_.size()});
    if (bytes.size() != size) {
      bytes.resize(size);
      bytes.shrink_to_fit();
    }
    std::ranges::copy(kept_, bytes.begin());
    std::size_t filled = kept_.size();
    const std::size_t most = std::min(size, most_);
    if (!ended_ && filled < most) {
      filled += read(std::span(bytes).subspan(filled, most - filled));
    }
    return std::span(bytes).first(filled);
  }

  // `rest` is the unused end of the last fill(); the next one makes room for `wanted` bytes. 0: the
  // batch was full after `used` bytes, and the next one will be after about as many. What is read
  // beyond these is copied twice before it is used.
  void keep(std::span<const std::uint8_t> rest, std::size_t used, std::size_t wanted) {
    kept_.assign(rest.begin(), rest.end());
    wanted_ = wanted;
    most_ = wanted > 0 ? SIZE_MAX : used + used / 16;
  }

  // Nothing comes after the last fill(); error() says why, unless the stream just ended.
  bool ended() const { return ended_; }
  const std::optional<Error>& error() const { return error_; }
  std::string flaw() const { return stream_->flaw(); }

 private:
  std::size_t read(std::span<std::uint8_t> into) {
    auto chunk = stream_->read(into);
    if (!chunk) {
      error_ = std::move(chunk.error());
      ended_ = true;
      return 0;
    }
    ended_ = chunk->ended;
    return chunk->bytes;
  }

  std::unique_ptr<ByteStream> stream_;
  std::vector<std::uint8_t> kept_;
  std::size_t wanted_ = 0;
  std::size_t most_ = SIZE_MAX;
  bool ended_ = false;
  std::optional<Error> error_;
};

// A window over the file's bytes and the format that reads them.
class FileSource final : public Source {
 public:
  FileSource(std::string path, Window window, std::unique_ptr<Format> format)
      : path_(std::move(path)), window_(std::move(window)), format_(std::move(format)) {}

  Result<Progress> read(Batch& batch) override {
    batch.clear();
    if (finished_) {
      return end();
    }
    const auto bytes = window_.fill(batch.bytes);
    const Consumed consumed = format_->take(bytes, batch);
    const auto rest = bytes.subspan(consumed.bytes);
    packets_ += batch.frames.size();
    window_.keep(rest, consumed.bytes, consumed.wanted);
    const bool full = consumed.wanted == 0;
    if (consumed.broken.empty() && (full || !window_.ended())) {
      return Progress::More;
    }
    finished_ = true;
    remark(consumed.broken, !rest.empty());
    return batch.frames.empty() ? end() : Progress::More;
  }

  const std::vector<Interface>& interfaces() const override { return format_->interfaces(); }
  std::vector<std::string> remarks() const override { return remarks_; }

 private:
  Result<Progress> end() const {
    if (window_.error()) {
      return fail(*window_.error());
    }
    return Progress::End;
  }

  void remark(const std::string& broken, bool inside_packet) {
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

  std::string path_;
  Window window_;
  std::unique_ptr<Format> format_;
  std::uint64_t packets_ = 0;
  bool finished_ = false;
  std::vector<std::string> remarks_;
};

class FileLane final : public Lane {
 public:
  explicit FileLane(std::unique_ptr<Source> file) : file_(std::move(file)) {}

  Result<Progress> refill(Batch& batch) override { return file_->read(batch); }
  std::int64_t complete_until() const override { return INT64_MIN; }
  const std::vector<Interface>& interfaces() const override { return file_->interfaces(); }

 private:
  std::unique_ptr<Source> file_;
};

class MergedFiles final : public Source {
 public:
  explicit MergedFiles(std::vector<std::unique_ptr<Source>> files) {
    for (std::unique_ptr<Source>& file : files) {
      files_.push_back(file.get());
      lanes_.add(std::make_unique<FileLane>(std::move(file)));
    }
  }

  Result<Progress> read(Batch& batch) override { return lanes_.read(batch); }
  const std::vector<Interface>& interfaces() const override { return lanes_.interfaces(); }

  std::vector<std::string> remarks() const override {
    std::vector<std::string> all;
    for (const Source* file : files_) {
      const auto some = file->remarks();
      all.insert(all.end(), some.begin(), some.end());
    }
    return all;
  }

 private:
  std::vector<const Source*> files_;  // owned by their lanes
  Lanes lanes_;
};

using packet::LinkType;

// A snapshot length that keeps whole packets.
constexpr int kWholePackets = 262'144;

class Program {
 public:
  static Result<Program> compile(const std::string& expression, LinkType link_type) {
    const std::unique_ptr<pcap_t, decltype(&pcap_close)> dead(
        pcap_open_dead(own_number(link_type), kWholePackets), pcap_close);
    Program program;
    if (pcap_compile(dead.get(), &program.code_, expression.c_str(), 1, PCAP_NETMASK_UNKNOWN) < 0) {
      return fail(ErrorKind::Usage, "filter", expression, pcap_geterr(dead.get()),
                  "'man pcap-filter' explains the syntax");
    }
    return program;
  }
  Program(Program&& other) noexcept : code_(std::exchange(other.code_, {})) {}
  Program& operator=(Program&&) = delete;
  ~Program() { pcap_freecode(&code_); }

  bool lets_pass(const packet::Frame& frame) const {
    pcap_pkthdr head{};
    head.caplen = frame.captured_bytes;
    head.len = frame.frame_bytes;
    return pcap_offline_filter(&code_, &head, frame.data) != 0;
  }

 private:
  Program() = default;

  // Files and libpcap's handles number raw IP differently.
  static int own_number(LinkType link_type) {
    return link_type == LinkType::Raw ? DLT_RAW : static_cast<int>(link_type);
  }

  bpf_program code_{};
};

class Filtered final : public Source {
 public:
  Filtered(std::unique_ptr<Source> below, std::string expression)
      : below_(std::move(below)), expression_(std::move(expression)) {}

  Result<Progress> read(Batch& batch) override {
    Result<Progress> progress = below_->read(batch);
    if (!progress) {
      return progress;
    }
    for (const packet::Frame& frame : batch.frames) {
      TRY(learn(frame.link_type));
    }
    std::erase_if(batch.frames, [&](const packet::Frame& frame) {
      return !programs_.at(frame.link_type).lets_pass(frame);
    });
    return progress;
  }
  const std::vector<Interface>& interfaces() const override { return below_->interfaces(); }
  std::vector<std::string> remarks() const override { return below_->remarks(); }

  Result<> learn(LinkType link_type) {
    if (programs_.contains(link_type)) {
      return {};
    }
    TRY(Program program, Program::compile(expression_, link_type));
    programs_.emplace(link_type, std::move(program));
    return {};
  }

 private:
  std::unique_ptr<Source> below_;
  std::string expression_;
  std::map<LinkType, Program> programs_;
};

}  // namespace

Result<std::unique_ptr<Source>> file_source(std::unique_ptr<ByteStream> stream,
                                            const std::string& path, int interrupt) {
  Window window(std::move(stream));
  const auto head = window.head(kPcapFileHeadBytes, path, interrupt);
  if (window.error()) {
    return fail(*window.error());
  }
  std::unique_ptr<Format> format =
      pcap_format(head, std::filesystem::path(path).filename().string());
  if (format != nullptr) {
    window.skip_head(kPcapFileHeadBytes);
  } else {
    format = pcapng_format(head);
  }
  if (format == nullptr) {
    return fail(no_capture(path, window.flaw(), head.empty()));
  }
  return std::make_unique<FileSource>(path, std::move(window), std::move(format));
}

std::unique_ptr<Source> merged_files(std::vector<std::unique_ptr<Source>> files) {
  return std::make_unique<MergedFiles>(std::move(files));
}

Result<std::unique_ptr<Source>> open_file(const std::string& path, int interrupt) {
  TRY(auto stream, open_stream(path, interrupt));
  return file_source(std::move(stream), path == "-" ? "standard input" : path, interrupt);
}

Result<std::unique_ptr<Source>> open_files(const std::vector<std::string>& paths, int interrupt) {
  std::vector<std::unique_ptr<Source>> files;
  for (const std::string& path : paths) {
    TRY(auto file, open_file(path, interrupt));
    files.push_back(std::move(file));
  }
  if (files.size() == 1) {
    return std::move(files.front());
  }
  return merged_files(std::move(files));
}

Result<std::unique_ptr<Source>> filtered(std::unique_ptr<Source> below,
                                         const std::string& expression) {
  const std::vector<Interface>& interfaces = below->interfaces();
  const LinkType first = interfaces.empty() ? LinkType::Ethernet : interfaces.front().link_type;
  auto source = std::make_unique<Filtered>(std::move(below), expression);
  TRY(source->learn(first));
  return source;
}

}  // namespace chokepoint::capture::source
