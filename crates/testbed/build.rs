//! Compiles the congestion controls in BPF, if they are wanted: `--features ebpf`, which `make testbed` gives where clang is.

use std::path::PathBuf;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=bpf");
    if std::env::var_os("CARGO_FEATURE_EBPF").is_none() {
        return;
    }
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("Cargo says where")).join("dctcp.bpf.o");
    let headers = format!("-I/usr/include/{}-linux-gnu", std::env::consts::ARCH);
    // Debian 12 has it under the first name.
    let compile = |clang: &str| {
        Command::new(clang)
            .args([
                "-O2",
                "-g",
                "-target",
                "bpf",
                "-mcpu=v3",
                "-Wall",
                "-Werror",
                &headers,
                "-c",
                "bpf/dctcp.bpf.c",
                "-o",
            ])
            .arg(&out)
            .status()
    };
    let done = compile("clang-14").or_else(|_| compile("clang"));
    assert!(
        done.is_ok_and(|status| status.success()),
        "bpf/dctcp.bpf.c was not compiled. Get what it needs with: apt-get install clang libbpf-dev libelf-dev zlib1g-dev"
    );
}
