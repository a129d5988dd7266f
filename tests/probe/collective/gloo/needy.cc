// A module whose library is missing.
extern "C" int needed_by_the_module();
extern "C" int module_that_needs() { return needed_by_the_module(); }
