// CUDA's numbers that are used here, as cuda.h has them. Only this folder includes it.
#pragma once

namespace chokepoint::gpu {

// CUresult
inline constexpr int kInvalidValue = 1;
inline constexpr int kOutOfMemory = 2;
inline constexpr int kNoDevice = 100;
inline constexpr int kInvalidDevice = 101;
inline constexpr int kPeerAccessUnsupported = 217;
inline constexpr int kNotReady = 600;
inline constexpr int kAlreadyEnabled = 704;  // access to a peer
inline constexpr int kNotEnabled = 705;
inline constexpr int kNotPermitted = 800;
inline constexpr int kNotSupported = 801;

inline constexpr int kSynchroniseCopies = 6;  // CU_POINTER_ATTRIBUTE_SYNC_MEMOPS
inline constexpr int kDmaBufDescriptor = 1;   // CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD
inline constexpr int kCopyEngines = 40;       // CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT
inline constexpr unsigned kNonBlocking = 1;   // CU_STREAM_NON_BLOCKING: no default stream's wait
inline constexpr unsigned kForEveryGpu = 1;   // CU_MEMHOSTREGISTER_PORTABLE

}  // namespace chokepoint::gpu
