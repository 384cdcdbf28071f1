//! Congestion controls of our own, in BPF: the kernel has them as long as this process lives.

use std::ffi::{c_char, c_void};
use std::io;

/// What they are called here.
pub const OWN: [&str; 2] = ["dctcp", "ecnstar"];
/// What was compiled from `bpf`, in the same order.
const COMPILED: [&[u8]; 2] = [
    include_bytes!(concat!(env!("OUT_DIR"), "/dctcp.bpf.o")),
    include_bytes!(concat!(env!("OUT_DIR"), "/ecn_star.bpf.o")),
];
/// Their name in `bpf/tcp.h`, with the zero that ends it.
const NAME: &[u8; 16] = b"name_of_nobody_\0";

/// A congestion control that the kernel has from us. It goes with the process, whatever ends that.
#[derive(Debug)]
pub struct Registered {
    /// What the kernel calls it.
    pub name: String,
    object: *mut libbpf_sys::bpf_object,
    link: *mut libbpf_sys::bpf_link,
}

/// Give one of ours to the kernel, under a name that no other process uses.
///
/// # Errors
///
/// If this process may not, or the kernel is too old (6.4) or was built without BTF.
pub fn register(own: &str) -> io::Result<Registered> {
    let place = OWN.iter().position(|known| *known == own).ok_or(io::ErrorKind::NotFound)?;
    // Numbers of processes have at most seven digits: 2^22 (proc_sys_kernel(5)).
    let name = format!("{own}_{}", std::process::id());
    let mut bytes = COMPILED[place].to_vec();
    let place = bytes.windows(NAME.len()).position(|window| window == NAME).expect("it has this name");
    bytes[place..place + NAME.len()].fill(0);
    bytes[place..place + name.len()].copy_from_slice(name.as_bytes());
    // SAFETY: the bytes live until they are opened, which copies them. Each pointer is checked before it is used, and the object
    // lives as long as the link, which this value sees to.
    unsafe {
        libbpf_sys::libbpf_set_print(None);
        let (start, len) = (bytes.as_ptr().cast::<c_void>(), bytes.len());
        let object = libbpf_sys::bpf_object__open_mem(start, len as _, std::ptr::null());
        if object.is_null() {
            return Err(io::Error::last_os_error());
        }
        let mut registered = Registered { name, object, link: std::ptr::null_mut() };
        if libbpf_sys::bpf_object__load(object) != 0 {
            return Err(io::Error::last_os_error());
        }
        let map = libbpf_sys::bpf_object__find_map_by_name(object, c"control".as_ptr().cast::<c_char>());
        registered.link = libbpf_sys::bpf_map__attach_struct_ops(map);
        if registered.link.is_null() {
            return Err(io::Error::last_os_error());
        }
        Ok(registered)
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        // SAFETY: both are ours, and null only where there is nothing to be done.
        unsafe {
            libbpf_sys::bpf_link__destroy(self.link);
            libbpf_sys::bpf_object__close(self.object);
        }
    }
}
