//! Readings of this process, as Linux gives them; elsewhere there are none.

use std::fs;
use std::time::Duration;

/// Time that all threads of this process have spent on a processor so far, ended ones included.
#[cfg(target_os = "linux")]
pub fn cpu_time() -> Option<Duration> {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Some(Duration::new(time.tv_sec.try_into().ok()?, time.tv_nsec.try_into().ok()?))
}

#[cfg(not(target_os = "linux"))]
pub fn cpu_time() -> Option<Duration> {
    None
}

/// Time that this thread has spent on a processor so far.
#[cfg(target_os = "linux")]
pub fn thread_time() -> Option<Duration> {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Some(Duration::new(time.tv_sec.try_into().ok()?, time.tv_nsec.try_into().ok()?))
}

#[cfg(not(target_os = "linux"))]
pub fn thread_time() -> Option<Duration> {
    None
}

/// The most memory that this process has had in use, in bytes.
pub fn peak_memory() -> Option<u64> {
    status("VmHWM:")
}

/// The memory that this process has in use now, in bytes.
pub fn memory() -> Option<u64> {
    status("VmRSS:")
}

/// Lets `peak_memory` start anew from what is in use now, where the system can do that.
pub fn forget_peak() {
    let _ = fs::write("/proc/self/clear_refs", "5");
}

fn status(name: &str) -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let kilobytes = status.lines().find_map(|line| line.strip_prefix(name))?;
    let kilobytes: u64 = kilobytes.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn readings_grow() {
        let before = cpu_time().unwrap();
        let mut sum = 0_u64;
        while cpu_time().unwrap() < before + Duration::from_millis(20) {
            sum = std::hint::black_box(sum.wrapping_add(1));
        }
        assert!(peak_memory().unwrap() > 100_000);
    }
}
