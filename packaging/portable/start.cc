// How a program starts that is linked with a glibc before 2.34: it hands in what runs its
// constructors; since then the C library finds them itself, and what starts a program hands in
// nothing. The linker puts this between the two (--wrap).

extern "C" {

using Main = int (*)(int, char**, char**);
using Constructor = void (*)(int, char**, char**);
extern Constructor __preinit_array_start[];
extern Constructor __preinit_array_end[];
extern Constructor __init_array_start[];
extern Constructor __init_array_end[];
void _init();

int __real___libc_start_main(Main main, int count, char** words, Constructor construct,
                             void (*end)(), void (*end_of_loader)(), void* stack);

static void construct_all(int count, char** words, char** environment) {
  for (Constructor* each = __preinit_array_start; each < __preinit_array_end; ++each) {
    (*each)(count, words, environment);
  }
  _init();
  for (Constructor* each = __init_array_start; each < __init_array_end; ++each) {
    (*each)(count, words, environment);
  }
}

int __wrap___libc_start_main(Main main, int count, char** words, Constructor /*construct*/,
                             void (* /*end*/)(), void (*end_of_loader)(), void* stack) {
  return __real___libc_start_main(main, count, words, construct_all, nullptr, end_of_loader, stack);
}

}  // extern "C"
