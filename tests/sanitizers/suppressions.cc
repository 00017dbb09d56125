// What the thread sanitizer is not to report: Debian's libraries are not compiled for it, so that
// it sees what they do to memory through the functions of the C library, and not how they
// synchronise. The program asks for nothing of this on its command line, and neither do its
// children.

// By this name the sanitizer finds it.
extern "C" const char* __tsan_default_suppressions();

extern "C" const char* __tsan_default_suppressions() {
  return
      // What gRPC hands from one thread to another: the memory of requests, replies and calls. A
      // stack has a library's function only where that calls the C library, so that what runs on
      // gRPC's threads is not meant.
      "race:libgrpc.so\n"
      "race:libgrpc++.so\n"
      "race:libgpr.so\n"
      "race:libssl.so\n"
      "race:libupb.so\n"
      "race:grpc::SerializationTraits\n"
      // A call, asked for on one thread, begins on another; a part of it is inlined, too.
      "race:grpc::ServerInterface::RegisteredAsyncRequest::FinalizeResult\n"
      // Metadata of an answer's end, which gRPC's threads have read; inlined from its headers.
      "race:grpc::internal::CallOpServerSendStatus\n"
      // Timers of gRPC make text of how calls ended; their stacks do not reach beyond this library.
      // What our own code reads to make text of is missed, too.
      "race:libabsl_strings.so\n"
      // Counts of references, and zones that are loaded once; these call nothing of ours.
      "race:libabsl_status.so\n"
      "race:libabsl_time.so\n"
      "race:libabsl_time_zone.so\n";
}
