/* Hides AVX-512 and AMX from a process, so that a machine that has them shows what one without does.
 *
 *     cc -O1 -shared -fPIC -o cpuid_mask.so cpuid_mask.c -ldl
 *     LD_PRELOAD=./cpuid_mask.so python program.py
 *
 * Libraries ask the processor what it has by the instruction CPUID. Linux can have that instruction fault (arch_prctl(2),
 * ARCH_SET_CPUID) where the processor is able to, which /proc/cpuinfo calls cpuid_fault. The handler of the fault answers
 * in its place. Environment variables bound some libraries; this bounds all of them. The C library has asked before. */
#define _GNU_SOURCE
#include <cpuid.h>
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define ARCH_SET_CPUID 0x1012

/* What the process wants done with other faults. */
static struct sigaction wanted;
/* The C library's function. */
static int (*set_action)(int, const struct sigaction *, struct sigaction *);

static void find_set_action(void) {
    if (!set_action) {
        set_action = (int (*)(int, const struct sigaction *, struct sigaction *))dlsym(RTLD_NEXT, "sigaction");
    }
}

/* The features of leaf 7 to hide: of subleaf 0 in EBX, ECX and EDX, and of subleaf 1 in EAX.
 * Bits are as in Intel's manual, volume 2A, CPUID, table 3-8. */
static const unsigned EBX_7 = 1u << 16 | 1u << 17 | 1u << 21 | 1u << 26 | 1u << 27 | 1u << 28 | 1u << 30 | 1u << 31;
static const unsigned ECX_7 = 1u << 1 | 1u << 6 | 1u << 11 | 1u << 12 | 1u << 14;
static const unsigned EDX_7 = 1u << 2 | 1u << 3 | 1u << 8 | 1u << 22 | 1u << 23 | 1u << 24 | 1u << 25;
static const unsigned EAX_7_1 = 1u << 5 | 1u << 21;
/* The parts of the state of a process that leaf 13 names: those of AVX-512 and of tiles. */
static const unsigned EAX_13 = 1u << 5 | 1u << 6 | 1u << 7 | 1u << 17 | 1u << 18;

static void answer(greg_t *registers) {
    unsigned leaf = registers[REG_RAX], subleaf = registers[REG_RCX], a, b, c, d;
    syscall(SYS_arch_prctl, ARCH_SET_CPUID, 1);
    __cpuid_count(leaf, subleaf, a, b, c, d);
    syscall(SYS_arch_prctl, ARCH_SET_CPUID, 0);
    if (leaf == 7 && subleaf == 0) {
        b &= ~EBX_7;
        c &= ~ECX_7;
        d &= ~EDX_7;
    } else if (leaf == 7 && subleaf == 1) {
        a &= ~EAX_7_1;
    } else if (leaf == 13 && subleaf == 0) {
        a &= ~EAX_13;
    } else if (leaf == 0x24) {
        /* AVX10. */
        a = b = c = d = 0;
    }
    registers[REG_RAX] = a;
    registers[REG_RBX] = b;
    registers[REG_RCX] = c;
    registers[REG_RDX] = d;
    registers[REG_RIP] += 2;
}

static void on_fault(int number, siginfo_t *info, void *context) {
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    const unsigned char *at = (const unsigned char *)registers[REG_RIP];
    if (info->si_code == SI_KERNEL && at[0] == 0x0f && at[1] == 0xa2) {
        answer(registers);
    } else if (wanted.sa_flags & SA_SIGINFO) {
        wanted.sa_sigaction(number, info, context);
    } else if (wanted.sa_handler != SIG_DFL && wanted.sa_handler != SIG_IGN) {
        wanted.sa_handler(number);
    } else {
        /* The instruction faults again, and ends the process. */
        struct sigaction standard = {.sa_handler = SIG_DFL};
        set_action(number, &standard, NULL);
    }
}

/* A handler of the process does not replace the one here. */
int sigaction(int number, const struct sigaction *to, struct sigaction *from) {
    find_set_action();
    if (number != SIGSEGV) {
        return set_action(number, to, from);
    }
    struct sigaction before = wanted;
    if (to) {
        wanted = *to;
    }
    if (from) {
        *from = before;
    }
    return 0;
}

sighandler_t signal(int number, sighandler_t to) {
    struct sigaction action = {.sa_handler = to, .sa_flags = SA_RESTART}, before;
    return sigaction(number, &action, &before) ? SIG_ERR : before.sa_handler;
}

__attribute__((constructor)) static void start(void) {
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK};
    find_set_action();
    if (set_action(SIGSEGV, &action, NULL) || syscall(SYS_arch_prctl, ARCH_SET_CPUID, 0)) {
        static const char text[] = "cpuid_mask: this processor cannot have CPUID fault\n";
        if (write(2, text, sizeof text - 1)) {
        }
        _exit(125);
    }
}
