/* The C interface of mdhd, the daemon that tunes data-parallel computations: libmdh.so.
 *
 *   mdh_query* matmul = NULL;
 *   mdh_bundle* bundle = NULL;
 *   mdh_kernel* kernel = NULL;
 *   mdh_function* function = NULL;
 *   const char* sizes[] = {"I=512", "J=512", "K=512", NULL};
 *   if (mdh_query_create(text, sizes, NULL, &matmul, NULL) == MDH_OK &&
 *       mdh_bundle_open("kernels.mdhb", MDH_CHECK_WHEN_OPENED, &bundle, NULL) == MDH_OK &&
 *       mdh_bundle_kernel(bundle, matmul, &kernel, NULL) == MDH_OK &&
 *       mdh_function_load(kernel, NULL, &function, NULL) == MDH_OK) {
 *     void* arguments[] = {A, B, C};
 *     mdh_function_run(function, arguments, 3, NULL);
 *   }
 *
 * Errors. Functions that can fail return a code; MDH_OK is 0. Their last parameter, unless it is
 * NULL, is set to an error that the caller frees with mdh_error_free; it is not touched on success.
 * Results are not touched on failure. Everything else must not be NULL unless the comment says so.
 *
 * Ownership. What a function gives through a pointer to a handle belongs to the caller, who frees
 * it with the function of that type; freeing NULL does nothing. Texts and arrays that a handle
 * gives belong to it and live as long as it does. What is passed in is copied. Handles are
 * independent of each other but where the comment says otherwise.
 *
 * Threads. All functions may be called from all threads at the same time, also with the same
 * handle; only freeing a handle must not happen while it is used. After fork, calls of a client
 * fail in the child, with MDH_FAILED_PRECONDITION: it connects anew. Bundles, queries, kernels and
 * functions may be used there, also functions that have run before.
 *
 * Times are in nanoseconds, sizes in bytes. Texts are UTF-8 and end with a zero.
 *
 * Versions. The library keeps its binary interface as long as its soname (libmdh.so.1) is the same:
 * functions and values of enumerations may be added, and fields at the end of structs that begin
 * with struct_bytes, which callers set to the size of the struct that they were compiled with. */
#ifndef MDH_CLIENT_C_MDH_H_
#define MDH_CLIENT_C_MDH_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define MDH_API __attribute__((visibility("default")))
#else
#define MDH_API
#endif

/* An enumeration may have any value of an int, as in C: one that is unknown is refused. */
#if defined(__cplusplus) && __cplusplus >= 201103L
#define MDH_ENUM_BASE : int
#else
#define MDH_ENUM_BASE
#endif

/* "0.1.0": of the library that is loaded. */
MDH_API const char* mdh_version(void);

/* ---- Errors ---- */

/* The canonical codes of gRPC, with their numbers. */
typedef enum mdh_code MDH_ENUM_BASE {
  MDH_OK = 0,
  MDH_CANCELLED = 1,
  MDH_UNKNOWN = 2,
  MDH_INVALID_ARGUMENT = 3,  /* the expression, the sizes or the call is wrong; so is a bundle that
                                was changed or cut off */
  MDH_DEADLINE_EXCEEDED = 4, /* a call, or waiting, took too long */
  MDH_NOT_FOUND = 5,
  MDH_ALREADY_EXISTS = 6,
  MDH_PERMISSION_DENIED = 7,
  MDH_RESOURCE_EXHAUSTED = 8,  /* no memory, disk or quota */
  MDH_FAILED_PRECONDITION = 9, /* this machine cannot do it: no compiler, no private folder, ... */
  MDH_ABORTED = 10,
  MDH_OUT_OF_RANGE = 11,
  MDH_UNIMPLEMENTED = 12,
  MDH_INTERNAL = 13,
  MDH_UNAVAILABLE = 14, /* the daemon cannot be reached */
  MDH_DATA_LOSS = 15,
  MDH_UNAUTHENTICATED = 16
} mdh_code;

typedef struct mdh_error mdh_error;

MDH_API mdh_code mdh_error_code(const mdh_error* error);
/* For people; errors in expressions have line, column and a caret. */
MDH_API const char* mdh_error_message(const mdh_error* error);
MDH_API void mdh_error_free(mdh_error* error);

/* ---- Queries: what is to be computed, and where ---- */

typedef enum mdh_numerics MDH_ENUM_BASE {
  MDH_NUMERICS_DEFAULT = 0,     /* MDH_NUMERICS_REASSOCIATE */
  MDH_NUMERICS_REASSOCIATE = 1, /* values are combined in any order */
  MDH_NUMERICS_EXACT_ORDER = 2, /* in that of the plain loop nest, bit for bit */
  MDH_NUMERICS_FIXED_TREE = 3,  /* in a fixed tree: the same bits on every run and device */
  /* in any order, and products of fp32 in contractions may be ... */
  MDH_NUMERICS_TF32 = 4,   /* of operands that are rounded to tf32 */
  MDH_NUMERICS_BF16X3 = 5, /* the three largest products of two parts of bf16 each */
  MDH_NUMERICS_BF16X6 = 6, /* the six largest products of three parts of bf16 each */
  /* in any order, and sums of products of fp8 in contractions may keep 13 bits, 128 at a time */
  MDH_NUMERICS_FP8 = 7
} mdh_numerics;

typedef struct mdh_query_options {
  size_t struct_bytes; /* sizeof(mdh_query_options) */
  mdh_numerics numerics;
  /* Of calls to a daemon: "devices/cuda0", "knownDevices/h100", ...; NULL: the daemon's CPU. */
  const char* device;
  /* Of lookups in bundles and caches: the fingerprint of the device, as mdh_bundle_device gives it;
   * NULL: this machine's CPU. */
  const char* device_fingerprint;
} mdh_query_options;

/* An expression, or a pipeline, with sizes, for a device. Made once, used for many lookups.
 * Immutable. A pipeline has one kernel for all steps. Its job is the one that measures whole
 * kernels when those of its steps have ended; these are cancelled with it. Bundles and caches have
 * what such a job has found. */
typedef struct mdh_query mdh_query;

/* `text`: in the text form (.mdh files): a definition, or a pipeline with those that it calls; or a
 * TeML program.
 * `bindings`: "NAME=VALUE" for its parameters, NULL at the end; or NULL. `options`: NULL for
 * defaults. */
MDH_API mdh_code mdh_query_create(const char* text, const char* const* bindings,
                                  const mdh_query_options* options, mdh_query** query,
                                  mdh_error** error);
/* `einsum`: as "ik,kj->ij"; `sizes`: as "i=512,j=512,k=512"; `type`: "fp32", "fp64", "int32", ...
 */
MDH_API mdh_code mdh_query_create_einsum(const char* einsum, const char* sizes, const char* type,
                                         const mdh_query_options* options, mdh_query** query,
                                         mdh_error** error);

typedef struct mdh_einsum_options {
  size_t struct_bytes;  /* sizeof(mdh_einsum_options) */
  const char* type;     /* of the operands; NULL: "fp32" */
  const char* out_type; /* of the output; NULL: that of the operands */
  /* In which products are computed and added up; NULL: of both types the one that holds more. */
  const char* accumulate;
  /* As above, of letters that no shape gives; NULL: none. */
  const char* sizes;
  /* Of each operand its extents, as "8,512,256", NULL at the end; or NULL. A dimension of one
   * element fits any size of its letter. "..." in `einsum` stands for the dimensions of an operand
   * that have no letter, aligned at the last one, and needs shapes. */
  const char* const* shapes;
  /* What is made of the sums, `out`, before they are stored, as "max(out + bias[j], 0) +
   * skip[i,j]"; NULL: nothing. Buffers that it names follow the operands in a call. */
  const char* epilogue;
} mdh_einsum_options;

MDH_API mdh_code mdh_query_create_einsum_with(const char* einsum, const mdh_einsum_options* with,
                                              const mdh_query_options* options, mdh_query** query,
                                              mdh_error** error);
MDH_API void mdh_query_free(mdh_query* query);
/* SHA-256 of the meaning of the expression, 64 hexadecimal digits. */
MDH_API const char* mdh_query_digest(const mdh_query* query);

/* ---- Kernels ---- */

/* How well a kernel fits, the best first. */
typedef enum mdh_match MDH_ENUM_BASE {
  MDH_MATCH_EXACT = 1,
  MDH_MATCH_COMPATIBLE = 2, /* measured with another compiler, or version of the generator */
  MDH_MATCH_NEAREST = 4,    /* measured in other sizes, and repaired to these */
  MDH_MATCH_PREDICTED = 3   /* not measured on the device: from a similar one, or from rules */
} mdh_match;

/* Where a kernel's parameters come from. */
typedef enum mdh_provenance MDH_ENUM_BASE {
  MDH_PROVENANCE_UNKNOWN = 0,
  MDH_PROVENANCE_MEASURED = 1, /* tuned for this expression and device */
  MDH_PROVENANCE_REPAIRED = 2, /* those of another record, repaired */
  MDH_PROVENANCE_RULES = 3     /* defaults */
} mdh_provenance;

/* Source and everything that is needed to compile and run it. Immutable. */
typedef struct mdh_kernel mdh_kernel;

typedef struct mdh_argument {
  const char* name;
  const char* type; /* "fp32", ...; "record" for structs */
  int64_t elements;
  int64_t size_bytes;
  int is_output;
} mdh_argument;

/* To be launched one after the other in one stream or queue, each as usual. Functions in CUDA C++
 * may begin with instructions for programmatic stream serialization, which then do nothing. */
typedef struct mdh_launch {
  const char* function;
  int64_t grid[3];  /* blocks in x, y, z */
  int64_t block[3]; /* threads of a block */
  int64_t dynamic_shared_bytes;
} mdh_launch;

MDH_API void mdh_kernel_free(mdh_kernel* kernel);
/* "kernels/{id}"; empty: it is not stored, as one that was predicted. */
MDH_API const char* mdh_kernel_name(const mdh_kernel* kernel);
/* "OpenMP C", "OpenCL C", "CUDA C++", ... */
MDH_API const char* mdh_kernel_language(const mdh_kernel* kernel);
/* Of C: the function `int entry(inputs..., outputs..., void* scratch)`. */
MDH_API const char* mdh_kernel_entry(const mdh_kernel* kernel);
MDH_API const char* mdh_kernel_source(const mdh_kernel* kernel);
/* Declares the functions, for C and C++. */
MDH_API const char* mdh_kernel_header(const mdh_kernel* kernel);
/* "gcc", "clang", "nvrtc"; empty for OpenCL C. */
MDH_API const char* mdh_kernel_compiler(const mdh_kernel* kernel);
MDH_API size_t mdh_kernel_compile_option_count(const mdh_kernel* kernel);
/* `number` counts from 0 here and below; NULL if there is no such option. */
MDH_API const char* mdh_kernel_compile_option(const mdh_kernel* kernel, size_t number);
/* Inputs, then outputs. */
MDH_API size_t mdh_kernel_argument_count(const mdh_kernel* kernel);
/* MDH_OUT_OF_RANGE if there is no such argument. */
MDH_API mdh_code mdh_kernel_argument(const mdh_kernel* kernel, size_t number,
                                     mdh_argument* argument);
/* One after the other in one stream; none for C. */
MDH_API size_t mdh_kernel_launch_count(const mdh_kernel* kernel);
/* MDH_OUT_OF_RANGE if there is no such launch. */
MDH_API mdh_code mdh_kernel_launch(const mdh_kernel* kernel, size_t number, mdh_launch* launch);
/* Of the launches' last argument; 0: they have none. */
MDH_API int64_t mdh_kernel_scratch_bytes(const mdh_kernel* kernel);
/* Tuning parameters as text, key=value pairs separated by ';'. */
MDH_API const char* mdh_kernel_parameters(const mdh_kernel* kernel);
/* Median time of one execution where it was measured; 0: it was not. */
MDH_API int64_t mdh_kernel_time_ns(const mdh_kernel* kernel);
MDH_API mdh_match mdh_kernel_match(const mdh_kernel* kernel);
MDH_API mdh_provenance mdh_kernel_provenance(const mdh_kernel* kernel);
/* "records/{id}" of the record that a repaired kernel was made from; else empty. */
MDH_API const char* mdh_kernel_made_from(const mdh_kernel* kernel);
/* "tuningJobs/{number}" that mdh_client_kernel_and_tune began or joined; else empty. */
MDH_API const char* mdh_kernel_tuning_job(const mdh_kernel* kernel);

/* ---- Running kernels in C on this machine ---- */

typedef struct mdh_load_options {
  size_t struct_bytes; /* sizeof(mdh_load_options) */
  /* A folder of this user alone, where compiled kernels are kept, made if it is not there; several
   * processes may use it at once, and anything in it may be removed. NULL: "mdh" in
   * $XDG_CACHE_HOME, or else in ~/.cache. Where it cannot be made or is full, the kernel is
   * compiled in a temporary folder and not kept (mdh_function_warning). */
  const char* cache_directory;
  /* A program that understands gcc's options; NULL: the one that the kernel was measured with, or
   * cc if that is missing (mdh_function_warning). */
  const char* compiler;
} mdh_load_options;

/* A kernel that was compiled and loaded. */
typedef struct mdh_function mdh_function;

/* Compiles, unless the cache has it, which takes about a second, and loads. `options`: NULL for
 * defaults. Kernels of several threads run on those of the OpenMP runtime that this process has, or
 * else of GNU's or LLVM's, which is loaded; their code is the same on each. MDH_INVALID_ARGUMENT if
 * the kernel is not in C; MDH_FAILED_PRECONDITION if it does not compile, with what the compiler
 * wrote, or there is no OpenMP runtime; MDH_PERMISSION_DENIED if others could write to the cache.
 */
MDH_API mdh_code mdh_function_load(const mdh_kernel* kernel, const mdh_load_options* options,
                                   mdh_function** function, mdh_error** error);
MDH_API void mdh_function_free(mdh_function* function);
/* Why calls may take another time than the one that was measured, for people; mostly empty. Belongs
 * to the function. */
MDH_API const char* mdh_function_warning(const mdh_function* function);
/* Runs the kernel, until the outputs are there, on as many threads as OpenMP gives
 * ($OMP_NUM_THREADS). `arguments`: pointers to inputs, then outputs, each to as many bytes as
 * mdh_kernel_argument says; outputs must not overlap with anything else. */
MDH_API mdh_code mdh_function_run(const mdh_function* function, void* const* arguments,
                                  size_t count, mdh_error** error);

/* An array of the caller, described so that it can be checked. Zero the fields that are not set. */
typedef struct mdh_buffer {
  void* data;
  const char* type; /* "fp32", ..., as in mdh_argument; "record" for structs */
  size_t rank;      /* numbers in `extents` and `strides` */
  const int64_t* extents;
  const int64_t* strides; /* elements from one index of each dimension to the next; NULL: row-major
                             without gaps */
  int64_t record_bytes;   /* of records: the size of one */
  int is_read_only;
} mdh_buffer;

/* The shape of an argument: *rank numbers in *extents, which belong to the kernel; *strides is NULL
 * for arrays that are row-major without gaps. Rank 0: one element, or a kernel that an earlier
 * version stored, which says no shapes. MDH_OUT_OF_RANGE if there is no such argument. */
MDH_API mdh_code mdh_kernel_argument_shape(const mdh_kernel* kernel, size_t number, size_t* rank,
                                           const int64_t** extents, const int64_t** strides);
/* As mdh_function_run, on arrays that are described: MDH_INVALID_ARGUMENT, naming the argument with
 * what it is and what is expected, for one of another type, shape, strides or alignment, an output
 * that is read-only or overlaps with anything. */
MDH_API mdh_code mdh_function_run_buffers(const mdh_function* function, const mdh_buffer* buffers,
                                          size_t count, mdh_error** error);

/* ---- Bundles: kernels in a file, without a daemon ---- */

typedef enum mdh_bundle_check MDH_ENUM_BASE {
  MDH_CHECK_WHEN_OPENED = 0,    /* the whole file, a second for each gigabyte, about */
  MDH_CHECK_WHEN_FIRST_USED = 1 /* the index at once, each entry when it is first found */
} mdh_bundle_check;

/* A file that is mapped read-only; processes that map the same file share its memory. A new version
 * must be put in its place by rename: changing a file that is mapped changes what was checked. */
typedef struct mdh_bundle mdh_bundle;

/* What a bundle has for a query: texts that belong to the bundle, without a zero at the end. */
typedef struct mdh_bundle_entry {
  const char* record; /* a serialised mdh.v1.TuningRecord */
  size_t record_bytes;
  const char* kernel;   /* a serialised mdh.v1.Kernel */
  size_t kernel_bytes;  /* 0: the bundle has the record alone */
  const char* compiler; /* of the key */
  size_t compiler_bytes;
  int generator_version;
} mdh_bundle_entry;

/* MDH_NOT_FOUND if there is no such file; MDH_INVALID_ARGUMENT if it is no bundle, of another
 * version, cut off or changed; MDH_PERMISSION_DENIED if it belongs to somebody else than this user,
 * root, or one of $MDH_TRUSTED_USERS, or others could write it: its kernels are code. */
MDH_API mdh_code mdh_bundle_open(const char* path, mdh_bundle_check check, mdh_bundle** bundle,
                                 mdh_error** error);
MDH_API void mdh_bundle_close(mdh_bundle* bundle);
MDH_API size_t mdh_bundle_entry_count(const mdh_bundle* bundle);
/* SHA-256 that stands for everything in the bundle, 64 hexadecimal digits. A program that runs
 * kernels of a bundle trusts who made it; this says whether it is the one that they made. */
MDH_API const char* mdh_bundle_sum(const mdh_bundle* bundle);
/* Fingerprints of the devices that it has kernels for. The first call looks at all entries; if one
 * was changed (MDH_CHECK_WHEN_FIRST_USED), there are none. */
MDH_API size_t mdh_bundle_device_count(const mdh_bundle* bundle);
/* NULL if there is no such device. */
MDH_API const char* mdh_bundle_device(const mdh_bundle* bundle, size_t number);
/* In about a tenth of a microsecond; the whole key is compared. Any compiler and generator fits,
 * newer ones are preferred. MDH_NOT_FOUND. */
MDH_API mdh_code mdh_bundle_find(const mdh_bundle* bundle, const mdh_query* query,
                                 mdh_bundle_entry* entry, mdh_error** error);
/* The same for an expression as text, which is parsed by every call: some tens of
 * microseconds. */
MDH_API mdh_code mdh_bundle_find_text(const mdh_bundle* bundle, const char* text,
                                      const char* const* bindings, const mdh_query_options* options,
                                      mdh_bundle_entry* entry, mdh_error** error);
/* A copy of the kernel, which does not need the bundle any longer. MDH_NOT_FOUND also if the bundle
 * has the record alone. */
MDH_API mdh_code mdh_bundle_kernel(const mdh_bundle* bundle, const mdh_query* query,
                                   mdh_kernel** kernel, mdh_error** error);

/* ---- The daemon ---- */

typedef struct mdh_client_options {
  size_t struct_bytes; /* sizeof(mdh_client_options) */
  /* "unix:/path" or "HOST:PORT"; NULL: $MDH_SERVER, or the Unix socket where a daemon of this user
   * listens. */
  const char* address;
  int64_t connect_limit_ns; /* 0: 5 s */
  int64_t call_limit_ns;    /* of every call but mdh_job_wait; 0: 30 s */
  const char* token;        /* NULL: none */
  /* Files in PEM: the authority of the daemon's certificate (TLS is used; NULL: it is not), and the
   * own certificate with its key (NULL: none). */
  const char* tls_ca;
  const char* tls_certificate;
  const char* tls_key;
  /* Not 0: sends the token without TLS to other machines, too, where others can read it. */
  int allow_token_in_clear;
  /* Users whose Unix sockets are trusted, beside one's own, root's and the system service's: names
   * or numbers, separated by commas; "*": everybody's. NULL: $MDH_TRUSTED_USERS. */
  const char* trusted_users;
} mdh_client_options;

/* A connection. Reading calls are repeated when the daemon cannot be reached for a moment; a daemon
 * that was restarted is found again. Where several daemons share a database, whichever answers
 * knows of what ended jobs and the changes of an mdh_cache told this client before; it waits up to
 * a second for that. */
typedef struct mdh_client mdh_client;

/* `options`: NULL for defaults. MDH_UNAVAILABLE if there is no daemon; MDH_PERMISSION_DENIED if the
 * Unix socket belongs to somebody who is not trusted, or such a one could replace it. */
MDH_API mdh_code mdh_client_connect(const mdh_client_options* options, mdh_client** client,
                                    mdh_error** error);
/* Jobs and caches of the client must be freed before. */
MDH_API void mdh_client_free(mdh_client* client);

/* The best kernel that is known, if it is no weaker match than `weakest`: with MDH_MATCH_PREDICTED
 * there is one for every device. MDH_NOT_FOUND. */
MDH_API mdh_code mdh_client_kernel(mdh_client* client, const mdh_query* query, mdh_match weakest,
                                   mdh_kernel** kernel, mdh_error** error);
/* The same with MDH_MATCH_PREDICTED; unless it was measured for exactly this, the daemon tunes in
 * the background (mdh_kernel_tuning_job). `budget_ns`: of that job; 0: the daemon's default. */
MDH_API mdh_code mdh_client_kernel_and_tune(mdh_client* client, const mdh_query* query,
                                            int64_t budget_ns, mdh_kernel** kernel,
                                            mdh_error** error);

/* ---- Tuning ---- */

typedef enum mdh_caches MDH_ENUM_BASE {
  MDH_CACHES_DEFAULT = 0, /* warm; a record that was timed in any state will do */
  MDH_CACHES_WARM = 1,    /* as the call before left them */
  MDH_CACHES_COLD = 2     /* without the data of the call */
} mdh_caches;

typedef struct mdh_tune_options {
  size_t struct_bytes;   /* sizeof(mdh_tune_options) */
  int64_t budget_ns;     /* that behind the record included; 0: any will do, else 60 s */
  int64_t max_trials;    /* 0: no limit but the budget */
  uint64_t seed;         /* 0: the daemon's default */
  double tolerance;      /* largest relative error of results; 0: from the numerics */
  int force;             /* not 0: search again even if there is a record */
  int priority;          /* among the jobs of this source, from -10 to 10 */
  const char* technique; /* NULL: the daemon's default */
  mdh_caches caches;     /* in which state of the caches candidates are timed */
} mdh_tune_options;

typedef enum mdh_job_state MDH_ENUM_BASE {
  MDH_JOB_QUEUED = 1,
  MDH_JOB_RUNNING = 2,
  MDH_JOB_SUCCEEDED = 3,
  MDH_JOB_FAILED = 4,
  MDH_JOB_CANCELLED = 5,
  MDH_JOB_PAUSED = 6
} mdh_job_state;

typedef struct mdh_progress {
  mdh_job_state state;
  int64_t trials; /* failed ones included */
  int64_t failed_trials;
  int64_t best_time_ns; /* 0 before the first valid trial */
  int64_t elapsed_ns;
  int64_t remaining_ns;   /* estimated */
  int64_t queue_position; /* jobs ahead of a queued one */
} mdh_progress;

typedef enum mdh_phase MDH_ENUM_BASE {
  MDH_PHASE_NONE = 0,      /* it does not run, or the daemon does not say */
  MDH_PHASE_INPUTS = 1,    /* draws random inputs */
  MDH_PHASE_REFERENCE = 2, /* computes what results are compared with */
  MDH_PHASE_LOOP_NEST = 3, /* times the untuned loop nest */
  MDH_PHASE_COMPILING = 4, /* compiles the first kernels */
  MDH_PHASE_MEASURING = 5, /* compiles and measures kernels */
  MDH_PHASE_FINALS = 6     /* measures the best once more, on new inputs */
} mdh_phase;

/* A job of the daemon, which goes on whether or not there is a handle. Needs its client. */
typedef struct mdh_job mdh_job;

/* Begins, and returns at once. `options`: NULL for defaults. */
MDH_API mdh_code mdh_job_start(mdh_client* client, const mdh_query* query,
                               const mdh_tune_options* options, mdh_job** job, mdh_error** error);
/* A job that is there: "tuningJobs/{number}". MDH_NOT_FOUND. */
MDH_API mdh_code mdh_job_open(mdh_client* client, const char* name, mdh_job** job,
                              mdh_error** error);
MDH_API void mdh_job_free(mdh_job* job);
MDH_API const char* mdh_job_name(const mdh_job* job);
/* Of a job that was begun here: what search stands behind the record that there is, from what the
 * job goes on, or whose job was joined, for people; "" if there was nothing. */
MDH_API const char* mdh_job_note(const mdh_job* job);
/* What a running job does now. */
MDH_API mdh_code mdh_job_phase(const mdh_job* job, mdh_phase* phase, mdh_error** error);
MDH_API mdh_code mdh_job_poll(const mdh_job* job, mdh_progress* progress, mdh_error** error);
/* Waits until the job has ended, also while the daemon is restarted. `progress`: the last one, or
 * NULL; set if the job has ended. MDH_DEADLINE_EXCEEDED if it has not ended after `limit_ns` (0: no
 * limit); MDH_UNAVAILABLE if the daemon was away for longer than a call may take; MDH_CANCELLED if
 * the job was cancelled; what it failed with. */
MDH_API mdh_code mdh_job_wait(const mdh_job* job, int64_t limit_ns, mdh_progress* progress,
                              mdh_error** error);
MDH_API mdh_code mdh_job_cancel(const mdh_job* job, mdh_error** error);

/* ---- Lookups that are answered in this process ---- */

/* Records that the daemon gave, kept as it has them by the stream of its changes. Has one thread.
 * Needs its client. */
typedef struct mdh_cache mdh_cache;

/* Immutable. */
typedef struct mdh_record mdh_record;

/* `max_entries`: 0 for the default, 16384. */
MDH_API mdh_code mdh_cache_create(mdh_client* client, size_t max_entries, mdh_cache** cache,
                                  mdh_error** error);
MDH_API void mdh_cache_free(mdh_cache* cache);
/* The measured record of a query on the device of its device_fingerprint, or else on the daemon's
 * CPU. A hit takes some tenths of a microsecond, a miss a call. `weakest`: MDH_MATCH_EXACT or
 * MDH_MATCH_COMPATIBLE. MDH_NOT_FOUND. MDH_INVALID_ARGUMENT for queries that have the device's name
 * alone. */
MDH_API mdh_code mdh_cache_lookup(mdh_cache* cache, const mdh_query* query, mdh_match weakest,
                                  mdh_record** record, mdh_error** error);
/* Lookups that were answered here, and those that were calls. */
MDH_API void mdh_cache_counts(const mdh_cache* cache, int64_t* hits, int64_t* calls);
MDH_API void mdh_record_free(mdh_record* record);
/* "records/{id}". */
MDH_API const char* mdh_record_name(const mdh_record* record);
MDH_API const char* mdh_record_parameters(const mdh_record* record);
MDH_API int64_t mdh_record_time_ns(const mdh_record* record);
MDH_API mdh_match mdh_record_match(const mdh_record* record);
/* The kernel of the record. */
MDH_API mdh_code mdh_client_kernel_of(mdh_client* client, const mdh_record* record,
                                      mdh_kernel** kernel, mdh_error** error);

#ifdef __cplusplus
}
#endif

#endif /* MDH_CLIENT_C_MDH_H_ */
