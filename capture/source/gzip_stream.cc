#include <zlib.h>

#include <utility>

#include "capture/source/byte_stream.h"

namespace chokepoint::capture::source {
namespace {

constexpr std::size_t kPackedBytes = std::size_t{64} << 10;
constexpr int kGzipOnly = 16 + MAX_WBITS;

class GzipStream final : public ByteStream {
 public:
  explicit GzipStream(std::unique_ptr<ByteStream> below)
      : below_(std::move(below)), packed_(kPackedBytes) {
    inflateInit2(&state_, kGzipOnly);
  }
  GzipStream(const GzipStream&) = delete;
  GzipStream& operator=(const GzipStream&) = delete;
  ~GzipStream() override { inflateEnd(&state_); }

  Result<Chunk> read(std::span<std::uint8_t> into) override {
    if (state_.avail_in == 0 && !below_ended_) {
      auto below = below_->read(packed_);
      if (!below) {
        return below;
      }
      state_.next_in = packed_.data();
      state_.avail_in = static_cast<uInt>(below->bytes);
      below_ended_ = below->ended;
    }
    return unpack(into);
  }

  std::string flaw() const override { return flaw_; }

 private:
  Chunk unpack(std::span<std::uint8_t> into) {
    state_.next_out = into.data();
    state_.avail_out = static_cast<uInt>(into.size());
    const int outcome =
        state_.avail_in == 0 && between_ ? Z_BUF_ERROR : inflate(&state_, Z_NO_FLUSH);
    const std::size_t made = into.size() - state_.avail_out;
    if (outcome == Z_STREAM_END) {
      // Files put together with cat are several streams.
      inflateReset(&state_);
      between_ = true;
    } else if (outcome == Z_OK) {
      between_ = false;
    } else if (outcome != Z_BUF_ERROR) {
      flaw_ = "its gzip data is damaged";
      return {.bytes = made, .ended = true};
    }
    const bool ended = below_ended_ && state_.avail_in == 0 && made == 0;
    if (ended && !between_) {
      flaw_ = "its gzip data is cut off";
    }
    return {.bytes = made, .ended = ended};
  }

  std::unique_ptr<ByteStream> below_;
  std::vector<std::uint8_t> packed_;
  z_stream state_{};
  bool below_ended_ = false;
  bool between_ = false;  // one stream has ended, and the next has not begun
  std::string flaw_;
};

}  // namespace

std::unique_ptr<ByteStream> gzip_stream(std::unique_ptr<ByteStream> below) {
  return std::make_unique<GzipStream>(std::move(below));
}

}  // namespace chokepoint::capture::source
