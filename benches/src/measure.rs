//! Readings of this process, as Linux gives them; elsewhere there are none.

use std::fs;
use std::time::Duration;

/// Ticks a second in `/proc`: fixed at 100 for programs, whatever the kernel counts in.
const TICKS_PER_SECOND: u32 = 100;

/// Time that all threads of this process have spent on a processor so far, ended ones included; steps of 10 ms.
pub fn cpu_time() -> Option<Duration> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // The name of the program comes second, in brackets, and may hold blanks. User and system time are 14th and 15th.
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace().skip(11);
    let user: u32 = fields.next()?.parse().ok()?;
    let system: u32 = fields.next()?.parse().ok()?;
    Some(Duration::from_secs(1) * (user + system) / TICKS_PER_SECOND)
}

/// The most memory that this process has had in use, in bytes.
pub fn peak_memory() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let kilobytes = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
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
