// One capture file as a Source: a window over its bytes and the format that reads them. A cut-off
// or damaged file gives everything before that and a remark. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "capture/source/format.h"
#include "capture/source/source.h"
#include "capture/source/window.h"

namespace chokepoint::capture::source {

class FileSource final : public Source {
 public:
  // Fails where the stream does not begin as a capture does. `path` is what people know it by.
  static Result<std::unique_ptr<FileSource>> over(std::unique_ptr<ByteStream> stream,
                                                  const std::string& path);

  Result<Progress> read(Batch& batch) override;
  const std::vector<Interface>& interfaces() const override { return format_->interfaces(); }
  std::vector<std::string> remarks() const override { return remarks_; }

 private:
  FileSource(std::string path, Window window, std::unique_ptr<Format> format)
      : path_(std::move(path)), window_(std::move(window)), format_(std::move(format)) {}
  Result<Progress> end() const;
  void remark(const std::string& broken, bool inside_packet);

  std::string path_;
  Window window_;
  std::unique_ptr<Format> format_;
  std::uint64_t packets_ = 0;
  bool finished_ = false;
  std::vector<std::string> remarks_;
};

}  // namespace chokepoint::capture::source
