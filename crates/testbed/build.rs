//! Compiles the congestion controls in BPF if requested by `--features ebpf`, which `make testbed` sets if clang is installed.

use std::path::PathBuf;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=bpf");
    if std::env::var_os("CARGO_FEATURE_EBPF").is_none() {
        return;
    }
    for name in ["dctcp", "ecn_star", "pulser"] {
        let source = format!("bpf/{name}.bpf.c");
        assert!(
            // Debian 12 has it under the first name.
            compile("clang-14", name, &source) || compile("clang", name, &source),
            "{source} was not compiled. Get what it needs with: apt-get install clang libbpf-dev libelf-dev zlib1g-dev"
        );
    }
}

fn compile(clang: &str, name: &str, source: &str) -> bool {
    let out =
        PathBuf::from(std::env::var_os("OUT_DIR").expect("Cargo says where")).join(format!("{name}.bpf.o"));
    let headers = format!("-I/usr/include/{}-linux-gnu", std::env::consts::ARCH);
    let options =
        ["-O2", "-g", "-target", "bpf", "-mcpu=v3", "-Wall", "-Werror", &headers, "-c", source, "-o"];
    Command::new(clang).args(options).arg(out).status().is_ok_and(|status| status.success())
}
