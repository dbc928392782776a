//! The interface as C and C++ see it: the examples are compiled, linked with the library and run. Without a compiler the tests
//! say so and pass; `PENSTOCK_REQUIRE_CC=1` makes that a failure.

use std::path::{Path, PathBuf};
use std::process::Command;

use penstock::{Program, parse};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// What a program of C needs of the system beside the library.
const SYSTEM: &[&str] = if cfg!(target_os = "linux") { &["-lm", "-lpthread", "-ldl"] } else { &[] };

/// The static library, which lies beside this test or above it.
fn library() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let found = test.ancestors().skip(1).take(2).map(|dir| dir.join("libpenstock_c.a")).find(|p| p.is_file());
    found.expect("cargo builds the library for its tests")
}

/// A compiler, where there is one.
fn compiler(variable: &str, default: &str) -> Option<String> {
    let name = std::env::var(variable).unwrap_or_else(|_| default.to_owned());
    let works = cfg!(unix) && Command::new(&name).arg("--version").output().is_ok_and(|out| out.status.success());
    if works {
        return Some(name);
    }
    assert!(std::env::var_os("PENSTOCK_REQUIRE_CC").is_none(), "there is no compiler {name}");
    eprintln!("skipped: there is no compiler {name}");
    None
}

fn compile(compiler: &str, arguments: &[&str]) {
    let mut command = Command::new(compiler);
    command.args(["-Wall", "-Wextra", "-Werror", "-pedantic", "-I"]).arg(Path::new(ROOT).join("include"));
    let out = command.arg("-I").arg(Path::new(ROOT).join("examples")).args(arguments).output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
}

fn run(program: &Path, arguments: &[&str]) -> String {
    let out = Command::new(program).args(arguments).output().unwrap();
    assert!(out.status.success(), "{}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).unwrap()
}

/// Saves the main function of a text.
fn saved(folder: &Path, name: &str, text: &str) -> String {
    let function = parse(text).unwrap().function().clone();
    let mut builder = Program::builder();
    builder.function(name, function, &["x"], &["y"], Vec::new());
    let path = folder.join(format!("{name}.penstock"));
    builder.finish().unwrap().save(&path).unwrap();
    path.to_str().unwrap().to_owned()
}

fn example(name: &str) -> String {
    Path::new(ROOT).join("examples").join(name).to_str().unwrap().to_owned()
}

#[test]
fn the_header_is_c99_and_a_program_in_cpp_runs() {
    let temporary = tempfile::tempdir().unwrap();
    let folder = temporary.path();
    if let Some(cc) = compiler("CC", "cc") {
        let source = folder.join("header.c");
        std::fs::write(
            &source,
            "#include \"penstock.h\"\nint main(void) { return ps_abi_version() != PS_ABI_VERSION; }\n",
        )
        .unwrap();
        let (object, source) = (folder.join("header.o"), source.to_str().unwrap().to_owned());
        compile(&cc, &["-std=c99", "-c", &source, "-o", object.to_str().unwrap()]);
    }
    if let Some(cxx) = compiler("CXX", "c++") {
        let (program, library) = (folder.join("classify"), library());
        let (out, library) = (program.to_str().unwrap(), library.to_str().unwrap());
        let source = example("classify.cpp");
        compile(&cxx, &[&["-std=c++17", &source, library, "-o", out][..], SYSTEM].concat());
        let text = "func @f(%x: f32[s0,3]) -> f32[s0,3] {\n %y = add %x, %x\n return %y\n}";
        let printed = run(&program, &[&saved(folder, "double", text)]);
        assert_eq!(printed, "double(x): 6 6 6 6\nerror: the program has no function 'nothing'; it has double\n");
    }
}

#[test]
fn a_plug_in_in_c_is_loaded_by_a_host_that_knows_nothing_of_the_engine() {
    const HOST: &str = r#"
        #include <dlfcn.h>
        #include <stdio.h>
        #include "plugin.h"
        int main(int argc, char **argv) {
            void *library = argc == 4 ? dlopen(argv[1], RTLD_NOW) : NULL;
            if (!library) return 2;
            effect *(*open)(const char *, char *, size_t);
            int (*run)(effect *, float *, size_t);
            void (*close)(effect *);
            *(void **)&open = dlsym(library, "effect_open");
            *(void **)&run = dlsym(library, "effect_run");
            *(void **)&close = dlsym(library, "effect_close");
            char message[200];
            effect *e = open(argv[2], message, sizeof message);
            if (!e) return 3;
            float samples[3] = {1, 2, 3};
            int status = run(e, samples, 3);
            printf("%d: %g %g %g\n", status, samples[0], samples[1], samples[2]);
            close(e);
            if (!open(argv[3], message, sizeof message)) printf("%s\n", message);
            return 0;
        }"#;
    let Some(cc) = compiler("CC", "cc") else { return };
    let temporary = tempfile::tempdir().unwrap();
    let folder = temporary.path();
    let (plugin, host) = (folder.join("libeffect.so"), folder.join("host"));
    let (plugin, source, library) = (plugin.to_str().unwrap(), example("plugin.c"), library());
    let library = library.to_str().unwrap();
    compile(&cc, &[&["-std=c99", "-shared", "-fPIC", &source, library, "-o", plugin][..], SYSTEM].concat());
    let main = folder.join("host.c");
    std::fs::write(&main, HOST).unwrap();
    compile(&cc, &[&["-std=c99", main.to_str().unwrap(), "-o", host.to_str().unwrap()][..], SYSTEM].concat());
    let gain = saved(folder, "gain", "func @f(%x: f32[s0]) -> f32[s0] {\n %y = add %x, %x\n return %y\n}");
    let other = saved(folder, "other", "func @f(%x: i32[]) -> i32[] {\n return %x\n}");
    let printed = run(&host, &[plugin, &gain, &other]);
    assert_eq!(printed, "0: 2 4 6\n'other' is not of the form f32[n] -> f32[n]\n");
}
