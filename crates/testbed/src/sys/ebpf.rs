//! The testbed's own congestion controls, written in BPF. They are in the kernel as long as this process runs.

use std::ffi::{CStr, c_void};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Names of the congestion controls in scenarios.
pub const OWN: [&str; 3] = ["dctcp", "ecnstar", "pulser"];
/// Programs compiled from `bpf`, in the order of [`OWN`].
const COMPILED: [&[u8]; 3] = [
    include_bytes!(concat!(env!("OUT_DIR"), "/dctcp.bpf.o")),
    include_bytes!(concat!(env!("OUT_DIR"), "/ecn_star.bpf.o")),
    include_bytes!(concat!(env!("OUT_DIR"), "/pulser.bpf.o")),
];
/// Programs that read and write packets at the interface of each host; not every congestion control has them.
const AT_INTERFACES: [&CStr; 2] = [c"incast_ingress", c"incast_egress"];
/// Placeholder in `bpf/tcp.h` for the name of the congestion control, including the final zero byte.
const NAME: &[u8; 16] = b"name_of_nobody_\0";

/// Congestion control registered with the kernel. The kernel removes it when the process ends, even if it is killed.
#[derive(Debug)]
pub struct Registered {
    /// Name of the congestion control in the kernel.
    pub name: String,
    object: *mut libbpf_sys::bpf_object,
    links: Vec<*mut libbpf_sys::bpf_link>,
}

/// Registers one of the testbed's congestion controls with the kernel, under a name that no other process uses. `told` is the content of
/// the structure `told` in the source of the congestion control, if there is one.
///
/// # Errors
///
/// If the process lacks the necessary rights, or the kernel is older than 6.4 or was built without BTF.
///
/// # Panics
///
/// If `told` differs in length from the structure in the source.
pub fn register(own: &str, told: &[u32]) -> io::Result<Registered> {
    let place = OWN.iter().position(|known| *known == own).ok_or(io::ErrorKind::NotFound)?;
    // Process numbers have at most seven digits: 2^22 (proc_sys_kernel(5)).
    let name = format!("{own}_{}", std::process::id());
    let mut bytes = COMPILED[place].to_vec();
    let place = bytes.windows(NAME.len()).position(|window| window == NAME).expect("it has this name");
    bytes[place..place + NAME.len()].fill(0);
    bytes[place..place + name.len()].copy_from_slice(name.as_bytes());
    // SAFETY: the bytes live until they are opened, which copies them. Each pointer is checked before use, and the object lives as
    // long as the links, because this value owns both. The copied value has the size of the map.
    unsafe {
        libbpf_sys::libbpf_set_print(None);
        let (start, len) = (bytes.as_ptr().cast::<c_void>(), bytes.len());
        let object = libbpf_sys::bpf_object__open_mem(start, len as _, std::ptr::null());
        if object.is_null() {
            return Err(io::Error::last_os_error());
        }
        let mut registered = Registered { name, object, links: Vec::new() };
        if !told.is_empty() {
            let map = libbpf_sys::bpf_object__find_map_by_name(object, c".rodata".as_ptr());
            let mut size = 0;
            let value = libbpf_sys::bpf_map__initial_value(map, &raw mut size);
            assert!(!value.is_null() && size as usize == size_of_val(told), "its source says otherwise");
            value.cast::<u32>().copy_from_nonoverlapping(told.as_ptr(), told.len());
        }
        if libbpf_sys::bpf_object__load(object) != 0 {
            return Err(io::Error::last_os_error());
        }
        let map = libbpf_sys::bpf_object__find_map_by_name(object, c"control".as_ptr());
        registered.keep(libbpf_sys::bpf_map__attach_struct_ops(map))?;
        Ok(registered)
    }
}

impl Registered {
    /// Attaches the congestion control's programs for interfaces, if it has any, to an interface in the calling thread's network.
    ///
    /// # Errors
    ///
    /// If the kernel is older than 6.6, or there is no such interface.
    pub fn attach(&mut self, interface: u32) -> io::Result<()> {
        for name in AT_INTERFACES {
            // SAFETY: the object is open, and names end with a zero; the program is checked before use.
            unsafe {
                let program = libbpf_sys::bpf_object__find_program_by_name(self.object, name.as_ptr());
                if !program.is_null() {
                    let interface = interface.cast_signed();
                    self.keep(libbpf_sys::bpf_program__attach_tcx(program, interface, std::ptr::null()))?;
                }
            }
        }
        Ok(())
    }

    /// Returns a connection's DCTCP alpha, in 1,024ths, as updated at the end of its last window. Returns `None` before the end of the
    /// first window, or if the congestion control has no alpha.
    pub fn alpha(&self, socket: BorrowedFd<'_>) -> Option<u32> {
        let (key, mut alpha) = (socket.as_raw_fd(), 0u32);
        // SAFETY: the object is open, and names end with a zero; the map is checked before use, and reads one number
        // and writes another.
        unsafe {
            let map = libbpf_sys::bpf_object__find_map_by_name(self.object, c"alphas".as_ptr());
            if map.is_null() {
                return None;
            }
            let number = libbpf_sys::bpf_map__fd(map);
            let (key, value) = ((&raw const key).cast(), (&raw mut alpha).cast());
            (libbpf_sys::bpf_map_lookup_elem(number, key, value) == 0).then_some(alpha)
        }
    }

    fn keep(&mut self, link: *mut libbpf_sys::bpf_link) -> io::Result<()> {
        if link.is_null() {
            return Err(io::Error::last_os_error());
        }
        self.links.push(link);
        Ok(())
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        // SAFETY: this value owns all of them.
        unsafe {
            for link in self.links.drain(..) {
                libbpf_sys::bpf_link__destroy(link);
            }
            libbpf_sys::bpf_object__close(self.object);
        }
    }
}
