# For 64-bit Arm on a Debian of another machine: its cross compiler, its libraries of that architecture
# ('scripts/setup arm'), and QEMU for what is run while building, and for the tests.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
# Of how GCC before 10.1 passed parameters.
set(CMAKE_CXX_FLAGS_INIT -Wno-psabi)
set(ENV{PKG_CONFIG_LIBDIR} /usr/lib/aarch64-linux-gnu/pkgconfig:/usr/share/pkgconfig)
# Debian's lies where both machines would look for it, and the one that 'scripts/setup build' installs
# is this machine's.
set(CMAKE_DISABLE_FIND_PACKAGE_Gloo ON)
find_program(QEMU_AARCH64 NAMES qemu-aarch64-static qemu-aarch64)
if(QEMU_AARCH64)
  set(CMAKE_CROSSCOMPILING_EMULATOR ${QEMU_AARCH64})
endif()
