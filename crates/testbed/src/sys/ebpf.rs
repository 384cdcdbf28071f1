//! Congestion controls of our own, in BPF: the kernel has them as long as this process lives.

use std::ffi::{CStr, c_char, c_void};
use std::io;

/// What was compiled from `bpf/dctcp.bpf.c`.
const DCTCP: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/dctcp.bpf.o"));
/// Its name there, with the zero that ends it.
const NAME: &[u8; 16] = b"dctcp_of_nobody\0";

/// A congestion control that the kernel has from us. It goes with the process, whatever ends that.
#[derive(Debug)]
pub struct Registered {
    /// What the kernel calls it.
    pub name: String,
    object: *mut libbpf_sys::bpf_object,
    link: *mut libbpf_sys::bpf_link,
}

/// Give DCTCP to the kernel, under a name that no other process uses.
///
/// # Errors
///
/// If this process may not, or the kernel is too old (6.4) or was built without BTF.
pub fn dctcp() -> io::Result<Registered> {
    let name = format!("dctcp_{}", std::process::id());
    let mut bytes = DCTCP.to_vec();
    let place = bytes.windows(NAME.len()).position(|window| window == NAME).expect("it has this name");
    bytes[place..place + NAME.len()].fill(0);
    bytes[place..place + name.len()].copy_from_slice(name.as_bytes());
    let map: &CStr = c"dctcp";
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
        let map = libbpf_sys::bpf_object__find_map_by_name(object, map.as_ptr().cast::<c_char>());
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
