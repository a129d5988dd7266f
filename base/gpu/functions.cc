#include "base/gpu/functions.h"

namespace chokepoint::gpu {
namespace {

class Finder {
 public:
  explicit Finder(const sys::Library& library) : library_(library) {}

  template <class Function>
  void find(const char* name, Function*& function) {
    function = library_.function<Function>(name);
    if (function == nullptr && missing_ == nullptr) {
      missing_ = name;
    }
  }
  const char* missing() const { return missing_; }

 private:
  const sys::Library& library_;
  const char* missing_ = nullptr;
};

void find_devices(Finder& finder, Functions& to) {
  finder.find("cuInit", to.init);
  finder.find("cuDriverGetVersion", to.version);
  finder.find("cuGetErrorString", to.error_string);
  finder.find("cuDeviceGetCount", to.device_count);
  finder.find("cuDeviceGet", to.device);
  finder.find("cuDeviceGetName", to.device_name);
  finder.find("cuDeviceGetPCIBusId", to.device_address);
  finder.find("cuDeviceGetAttribute", to.device_attribute);
  finder.find("cuDeviceCanAccessPeer", to.can_access_peer);
  finder.find("cuDevicePrimaryCtxRetain", to.retain_context);
  finder.find("cuDevicePrimaryCtxRelease_v2", to.release_context);
  finder.find("cuCtxSetCurrent", to.set_context);
  finder.find("cuCtxEnablePeerAccess", to.enable_peer_access);
  finder.find("cuCtxDisablePeerAccess", to.disable_peer_access);
}

void find_memory(Finder& finder, Functions& to) {
  finder.find("cuMemGetInfo_v2", to.memory_info);
  finder.find("cuMemAlloc_v2", to.allocate);
  finder.find("cuMemFree_v2", to.free);
  finder.find("cuMemcpyHtoD_v2", to.to_gpu);
  finder.find("cuMemcpyDtoH_v2", to.from_gpu);
  finder.find("cuPointerSetAttribute", to.set_attribute);
  finder.find("cuMemHostRegister_v2", to.register_host);
  finder.find("cuMemHostUnregister", to.unregister_host);
}

void find_streams(Finder& finder, Functions& to) {
  finder.find("cuStreamCreate", to.create_stream);
  finder.find("cuStreamDestroy_v2", to.destroy_stream);
  finder.find("cuStreamSynchronize", to.finish_stream);
  finder.find("cuStreamWaitEvent", to.hold_stream);
  finder.find("cuEventCreate", to.create_event);
  finder.find("cuEventDestroy_v2", to.destroy_event);
  finder.find("cuEventRecord", to.record_event);
  finder.find("cuEventSynchronize", to.finish_event);
  finder.find("cuEventQuery", to.query_event);
  finder.find("cuEventElapsedTime", to.elapsed);
  finder.find("cuMemcpyHtoDAsync_v2", to.to_gpu_later);
  finder.find("cuMemcpyDtoHAsync_v2", to.from_gpu_later);
  finder.find("cuMemcpyPeerAsync", to.to_peer_later);
  finder.find("cuMemsetD32Async", to.fill_later);
}

}  // namespace

const char* Functions::load(const sys::Library& library) {
  Finder finder(library);
  find_devices(finder, *this);
  find_memory(finder, *this);
  find_streams(finder, *this);
  Finder optional(library);
  optional.find("cuMemGetHandleForAddressRange", export_range);
  return finder.missing();
}

}  // namespace chokepoint::gpu
