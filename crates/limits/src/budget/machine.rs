//! The memory that the machine, the control group and the resource limits leave to the process, read from the kernel's
//! files.
//!
//! On a system without these files the limit is unknown, and nothing is refused.

use std::fs::read_to_string;
use std::path::{Path, PathBuf};

/// Bytes of memory: those of the machine, or of the closest control group if it has less.
pub(super) fn memory() -> Option<u64> {
    let machine = read_to_string("/proc/meminfo").ok().and_then(|text| of_meminfo(&text));
    let groups = read_to_string("/proc/self/cgroup").unwrap_or_default();
    groups_of(&groups).iter().filter_map(|(folder, file)| least_above(folder, file)).chain(machine).min()
}

/// Bytes of addresses that are taken, and the limit on them, if there is one.
pub(super) fn addresses() -> Option<(u64, u64)> {
    let limit = of_limits(&read_to_string("/proc/self/limits").ok()?)?;
    let status = read_to_string("/proc/self/status").ok()?;
    let taken = status.lines().find_map(|line| line.strip_prefix("VmSize:"))?;
    Some((kilobytes(taken)?, limit))
}

fn of_meminfo(text: &str) -> Option<u64> {
    kilobytes(text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?)
}

/// Of a text such as `  24576 kB`.
fn kilobytes(text: &str) -> Option<u64> {
    text.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}

fn of_limits(text: &str) -> Option<u64> {
    let soft = text.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    soft.split_whitespace().next()?.parse().ok()
}

/// The folders in which the control groups of the process tell their limit, and the name of its file.
fn groups_of(text: &str) -> Vec<(PathBuf, &'static str)> {
    let root = Path::new("/sys/fs/cgroup");
    let of = |line: &str| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next()?, parts.next()?.trim_start_matches('/'));
        if controllers.is_empty() {
            return Some((root.join(path), "memory.max"));
        }
        let memory = controllers.split(',').any(|name| name == "memory");
        memory.then(|| (root.join("memory").join(path), "memory.limit_in_bytes"))
    };
    text.lines().filter_map(of).collect()
}

/// The least limit of a folder and those above it. In a container its own folder may be the root.
fn least_above(folder: &Path, file: &str) -> Option<u64> {
    let limits = folder.ancestors().take_while(|folder| folder.starts_with("/sys/fs/cgroup"));
    // "max", and numbers beyond any memory, are no limits.
    let of = |folder: &Path| read_to_string(folder.join(file)).ok()?.trim().parse::<u64>().ok();
    limits.filter_map(of).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_tells_is_read() {
        assert_eq!(of_meminfo("MemTotal:       24576 kB\nMemFree: 1 kB\n"), Some(24576 << 10));
        assert_eq!(of_meminfo("nothing"), None);
        let limits = "Limit  Soft Limit  Hard Limit  Units\nMax address space         2147483648  unlimited  bytes\n";
        assert_eq!(of_limits(limits), Some(2 << 30));
        assert_eq!(of_limits("Max address space         unlimited            unlimited            bytes"), None);
        let groups = "12:cpu,cpuacct:/a\n5:memory:/docker/x\n0::/user.slice/y\n";
        let found = groups_of(groups);
        assert_eq!(
            found,
            [
                (PathBuf::from("/sys/fs/cgroup/memory/docker/x"), "memory.limit_in_bytes"),
                (PathBuf::from("/sys/fs/cgroup/user.slice/y"), "memory.max"),
            ]
        );
    }
}
