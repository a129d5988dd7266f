// What a module needs that is nowhere on the host.
extern "C" int needed_by_the_module() { return 0; }
