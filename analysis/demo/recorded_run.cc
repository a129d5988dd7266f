#include "analysis/demo/recorded_run.h"

#include <zlib.h>

#include <cerrno>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "base/sys/file.h"

// The compressed records, as they lie beside this file.
asm(R"(.pushsection .rodata
.balign 16
chokepoint_demo_gpu1:
.incbin ")" CHOKEPOINT_DEMO R"(/gpu1.db.gz"
chokepoint_demo_gpu2:
.incbin ")" CHOKEPOINT_DEMO R"(/gpu2.db.gz"
chokepoint_demo_end:
.popsection)");
extern const Bytef chokepoint_demo_gpu1[] __attribute__((visibility("hidden")));
extern const Bytef chokepoint_demo_gpu2[] __attribute__((visibility("hidden")));
extern const Bytef chokepoint_demo_end[] __attribute__((visibility("hidden")));

namespace chokepoint::analysis {
namespace {

constexpr const char* kUnpack = "unpack the demo";
constexpr std::size_t kMostBytes = 4 << 20;  // more than either record has

Result<std::string> unpacked(std::span<const Bytef> packed, std::string_view name) {
  std::string record(kMostBytes, '\0');
  z_stream stream{};
  constexpr int kGzip = 16 + MAX_WBITS;
  if (inflateInit2(&stream, kGzip) != Z_OK) {
    return fail(from_errno(ENOMEM, kUnpack, name));
  }
  stream.next_in = const_cast<Bytef*>(packed.data());
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(record.data());
  stream.avail_out = static_cast<uInt>(record.size());
  const int code = inflate(&stream, Z_FINISH);
  record.resize(stream.total_out);
  inflateEnd(&stream);
  if (code != Z_STREAM_END) {
    return fail(ErrorKind::Malformed, kUnpack, name, "this program's copy is damaged",
                "install it again");
  }
  return record;
}

Result<> write_record(const std::filesystem::path& path, std::string_view record) {
  constexpr mode_t kMode = 0644;
  TRY(const sys::Descriptor file, sys::open_output(path, kMode, kUnpack));
  if (!sys::write_whole(file, record)) {
    return fail(from_errno(errno, kUnpack, path.string()));
  }
  return {};
}

}  // namespace

Result<> write_recorded_run(const std::filesystem::path& folder) {
  struct Packed {
    const char* name;
    std::span<const Bytef> bytes;
  };
  for (const Packed& packed : {Packed{"gpu1.db", {chokepoint_demo_gpu1, chokepoint_demo_gpu2}},
                               Packed{"gpu2.db", {chokepoint_demo_gpu2, chokepoint_demo_end}}}) {
    TRY(const std::string record, unpacked(packed.bytes, packed.name));
    TRY(write_record(folder / packed.name, record));
  }
  return {};
}

}  // namespace chokepoint::analysis
