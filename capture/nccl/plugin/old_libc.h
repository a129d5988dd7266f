// The plugin is loaded into jobs whose C library may be older than the one it was built with.
// Since glibc 2.34 these functions have new versions; the old versions, which are used here, work
// on both kinds of hosts.
#pragma once

#if defined(CHOKEPOINT_OLD_LIBC) && defined(__x86_64__)
__asm__(".symver dladdr, dladdr@GLIBC_2.2.5");
__asm__(".symver dlerror, dlerror@GLIBC_2.2.5");
__asm__(".symver dlopen, dlopen@GLIBC_2.2.5");
__asm__(".symver dlsym, dlsym@GLIBC_2.2.5");
__asm__(".symver pthread_once, pthread_once@GLIBC_2.2.5");
__asm__(".symver pthread_key_create, pthread_key_create@GLIBC_2.2.5");
__asm__(".symver pthread_getspecific, pthread_getspecific@GLIBC_2.2.5");
__asm__(".symver pthread_setspecific, pthread_setspecific@GLIBC_2.2.5");
#elif defined(CHOKEPOINT_OLD_LIBC) && defined(__aarch64__)
__asm__(".symver dladdr, dladdr@GLIBC_2.17");
__asm__(".symver dlerror, dlerror@GLIBC_2.17");
__asm__(".symver dlopen, dlopen@GLIBC_2.17");
__asm__(".symver dlsym, dlsym@GLIBC_2.17");
__asm__(".symver pthread_once, pthread_once@GLIBC_2.17");
__asm__(".symver pthread_key_create, pthread_key_create@GLIBC_2.17");
__asm__(".symver pthread_getspecific, pthread_getspecific@GLIBC_2.17");
__asm__(".symver pthread_setspecific, pthread_setspecific@GLIBC_2.17");
#endif
