#include <zstd.h>

#include <utility>

#include "capture/source/byte_stream.h"

namespace chokepoint::capture::source {
namespace {

class ZstdStream final : public ByteStream {
 public:
  explicit ZstdStream(std::unique_ptr<ByteStream> below)
      : below_(std::move(below)),
        state_(ZSTD_createDStream(), ZSTD_freeDStream),
        packed_(ZSTD_DStreamInSize()) {}

  Result<Chunk> read(std::span<std::uint8_t> into) override {
    if (input_.pos == input_.size && !below_ended_) {
      auto below = below_->read(packed_);
      if (!below) {
        return below;
      }
      input_ = {packed_.data(), below->bytes, 0};
      below_ended_ = below->ended;
    }
    return unpack(into);
  }

  std::string flaw() const override { return flaw_; }

 private:
  Chunk unpack(std::span<std::uint8_t> into) {
    ZSTD_outBuffer output{into.data(), into.size(), 0};
    const std::size_t before = input_.pos;
    const std::size_t hint = ZSTD_decompressStream(state_.get(), &output, &input_);
    if (ZSTD_isError(hint) != 0) {
      flaw_ = std::string("its zstd data is damaged: ") + ZSTD_getErrorName(hint);
      return {.bytes = output.pos, .ended = true};
    }
    if (input_.pos != before || output.pos > 0) {
      inside_ = hint != 0;
    }
    const bool ended = below_ended_ && input_.pos == input_.size && output.pos == 0;
    if (ended && inside_) {
      flaw_ = "its zstd data is cut off";
    }
    return {.bytes = output.pos, .ended = ended};
  }

  std::unique_ptr<ByteStream> below_;
  std::unique_ptr<ZSTD_DStream, decltype(&ZSTD_freeDStream)> state_;
  std::vector<std::uint8_t> packed_;
  ZSTD_inBuffer input_{};
  bool below_ended_ = false;
  bool inside_ = false;  // a frame of zstd's has begun and not ended
  std::string flaw_;
};

}  // namespace

std::unique_ptr<ByteStream> zstd_stream(std::unique_ptr<ByteStream> below) {
  return std::make_unique<ZstdStream>(std::move(below));
}

}  // namespace chokepoint::capture::source
