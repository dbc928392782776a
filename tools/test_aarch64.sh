#!/bin/sh
# Tests of the engine on aarch64: natively there, elsewhere under emulation by qemu-user.
#
#     tools/test_aarch64.sh            builds the tests and runs a sample, with a line a program
#     tools/test_aarch64.sh encodings  writes the words that GNU's assembler gives for the instructions of the vector JIT
#
# Debian has all that is needed: dpkg --add-architecture arm64 && apt-get update && apt-get install rustc-web
# libstd-rust-web-dev:arm64 gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user
# A Rust of rustup serves as well, after rustup target add aarch64-unknown-linux-gnu. AARCH64_RUSTC names another.
set -eu
cd "$(dirname "$0")/.."
TARGET=aarch64-unknown-linux-gnu
JIT=crates/penstock-jit/src/vector/aarch64

missing() {
    echo "skipped: $1 (see tools/test_aarch64.sh for what Debian calls it)"
    exit 0
}

if [ "${1:-}" = encodings ]; then
    work=$(mktemp -d)
    trap 'rm -r "$work"' EXIT
    grep -o 'add("[^"]*"' $JIT/tests.rs | sed 's/add("//;s/"$//' > "$work/text.s"
    aarch64-linux-gnu-as -o "$work/text.o" "$work/text.s"
    aarch64-linux-gnu-objcopy -O binary -j .text "$work/text.o" "$work/words"
    od -An -v -tx4 -w4 "$work/words" | tr -d ' ' | paste -d ' ' - "$work/text.s" > $JIT/encodings.txt
    exit 0
fi

if [ "$(uname -m)" != aarch64 ]; then
    command -v aarch64-linux-gnu-gcc > /dev/null || missing "no linker for aarch64: aarch64-linux-gnu-gcc"
    command -v qemu-aarch64 > /dev/null || missing "no emulator of aarch64: qemu-aarch64"
    has_std() {
        "$1" --print target-libdir --target $TARGET 2> /dev/null | xargs -I{} sh -c 'ls {}/libstd-* > /dev/null 2>&1'
    }
    found=
    for rustc in ${AARCH64_RUSTC:-rustc /usr/bin/rustc}; do
        if command -v "$rustc" > /dev/null && has_std "$rustc"; then
            found=$rustc
            break
        fi
    done
    [ -n "$found" ] || missing "no Rust with the standard library for $TARGET"
    export RUSTC="$found"
    export CARGO_BUILD_TARGET=$TARGET
    export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
    # Where Debian's C library for arm64 is installed, it is found as on such a machine; programs must not have parts of two.
    if [ -e /lib/ld-linux-aarch64.so.1 ]; then
        export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER=qemu-aarch64
    else
        export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="qemu-aarch64 -L /usr/aarch64-linux-gnu"
    fi
fi

# Every elementwise function, reduction, product and random number against the bits of x86; formulas against kernels;
# the code of the JIT against kernels; programs against the reference interpreter.
# In one call, so that everything is built once.
${CARGO:-cargo} test --no-fail-fast ${CARGO_FLAGS:-} -p penstock-kernels -p penstock-jit -p penstock-filetests \
    --test recorded --test formulas --test random --test vectors --test kernels --test filetests
