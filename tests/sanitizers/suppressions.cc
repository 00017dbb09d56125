// What the thread sanitizer is not to report: Debian's libraries are not compiled for it, so that it
// sees what they do to memory through the functions of the C library, and not how they synchronise.
// The program asks for nothing of this on its command line, and neither do its children.

// By this name the sanitizer finds it.
extern "C" const char* __tsan_default_suppressions();

extern "C" const char* __tsan_default_suppressions() {
  return "race:libgrpc.so\n";
}
