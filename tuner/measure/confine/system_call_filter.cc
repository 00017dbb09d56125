#include "tuner/measure/confine/system_call_filter.h"

#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <memory>

namespace mdh {
namespace {

constexpr int kRefused[] = {
    // Other processes.
    SCMP_SYS(ptrace), SCMP_SYS(process_vm_readv), SCMP_SYS(process_vm_writev),
    SCMP_SYS(pidfd_getfd), SCMP_SYS(process_madvise), SCMP_SYS(migrate_pages), SCMP_SYS(move_pages),
    // File systems and name spaces.
    SCMP_SYS(mount), SCMP_SYS(umount2), SCMP_SYS(pivot_root), SCMP_SYS(chroot),
    SCMP_SYS(move_mount), SCMP_SYS(open_tree), SCMP_SYS(fsopen), SCMP_SYS(fsmount),
    SCMP_SYS(fsconfig), SCMP_SYS(fspick), SCMP_SYS(mount_setattr), SCMP_SYS(setns),
    SCMP_SYS(unshare), SCMP_SYS(name_to_handle_at), SCMP_SYS(open_by_handle_at), SCMP_SYS(quotactl),
    SCMP_SYS(swapon), SCMP_SYS(swapoff), SCMP_SYS(fanotify_init), SCMP_SYS(mknod),
    SCMP_SYS(mknodat),
    // Keys.
    SCMP_SYS(keyctl), SCMP_SYS(add_key), SCMP_SYS(request_key),
    // The kernel and the machine.
    SCMP_SYS(bpf), SCMP_SYS(perf_event_open), SCMP_SYS(userfaultfd), SCMP_SYS(io_uring_setup),
    SCMP_SYS(io_uring_enter), SCMP_SYS(io_uring_register), SCMP_SYS(kexec_load),
    SCMP_SYS(kexec_file_load), SCMP_SYS(init_module), SCMP_SYS(finit_module),
    SCMP_SYS(delete_module), SCMP_SYS(reboot), SCMP_SYS(acct), SCMP_SYS(syslog),
    SCMP_SYS(sethostname), SCMP_SYS(setdomainname), SCMP_SYS(iopl), SCMP_SYS(ioperm),
    SCMP_SYS(lookup_dcookie), SCMP_SYS(nfsservctl), SCMP_SYS(vhangup),
    // The clock, by which kernels are judged.
    SCMP_SYS(settimeofday), SCMP_SYS(clock_settime), SCMP_SYS(adjtimex), SCMP_SYS(clock_adjtime)};

constexpr int kNameSpaceFlags[] = {CLONE_NEWNS,  CLONE_NEWUSER, CLONE_NEWPID,   CLONE_NEWNET,
                                   CLONE_NEWIPC, CLONE_NEWUTS,  CLONE_NEWCGROUP};

struct ReleaseFilter {
  void operator()(void* filter) const { seccomp_release(filter); }
};
using Filter = std::unique_ptr<void, ReleaseFilter>;

// Of a call's argument number `argument`.
scmp_arg_cmp Argument(unsigned argument, scmp_compare compare, scmp_datum_t a, scmp_datum_t b = 0) {
  return {argument, compare, a, b};
}

// 0, or a negative errno, as all of libseccomp.
int RefuseCalls(scmp_filter_ctx filter) {
  for (const int call : kRefused) {
    // Negative: this architecture does not have it.
    if (call < 0) continue;
    if (const int rc = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), call, 0); rc != 0) return rc;
  }
  return 0;
}

int RefuseNameSpaces(scmp_filter_ctx filter) {
  for (const int flag : kNameSpaceFlags) {
    const auto bits = static_cast<scmp_datum_t>(flag);
    const int rc = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1,
                                    Argument(0, SCMP_CMP_MASKED_EQ, bits, bits));
    if (rc != 0) return rc;
  }
  // Its flags are in memory, where a filter cannot look; callers fall back to clone.
  return seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
}

int RefuseSockets(scmp_filter_ctx filter, AllowedSockets sockets) {
  const uint32_t action = SCMP_ACT_ERRNO(EAFNOSUPPORT);
  for (int family = 0; family < AF_MAX; ++family) {
    const bool is_netlink = family == AF_NETLINK && sockets == AllowedSockets::kUnixAndNetlink;
    if (family == AF_UNIX || is_netlink) continue;
    const int rc = seccomp_rule_add(filter, action, SCMP_SYS(socket), 1,
                                    Argument(0, SCMP_CMP_EQ, static_cast<scmp_datum_t>(family)));
    if (rc != 0) return rc;
  }
  return seccomp_rule_add(filter, action, SCMP_SYS(socket), 1, Argument(0, SCMP_CMP_GE, AF_MAX));
}

int Load(scmp_filter_ctx filter, AllowedSockets sockets) {
  // Filters must not switch speculation off, which would make kernels slower.
  if (const int rc = seccomp_attr_set(filter, SCMP_FLTATR_CTL_SSB, 1); rc != 0) return rc;
  seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);  // a tree; a list would do
  if (const int rc = RefuseCalls(filter); rc != 0) return rc;
  if (const int rc = RefuseNameSpaces(filter); rc != 0) return rc;
  if (const int rc = RefuseSockets(filter, sockets); rc != 0) return rc;
  // Typing for others at their terminals.
  const int rc = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(ioctl), 1,
                                  Argument(1, SCMP_CMP_EQ, TIOCSTI));
  return rc != 0 ? rc : seccomp_load(filter);
}

}  // namespace

Status FilterSystemCalls(AllowedSockets sockets) {
  const Filter filter(seccomp_init(SCMP_ACT_ALLOW));
  const int rc = filter == nullptr ? -ENOMEM : Load(filter.get(), sockets);
  if (rc == 0) return absl::OkStatus();
  return FailedPrecondition("a filter of system calls: ", std::strerror(-rc));
}

}  // namespace mdh
