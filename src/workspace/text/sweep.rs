//! Memory that is given back away from the window's thread: handing tens of megabytes back to the system takes longer
//! than a frame.

use std::sync::OnceLock;
use std::thread;

use crossbeam_channel::{Sender, bounded};

/// Smaller texts are dropped where they are.
const LEAST_BYTES: usize = 1024 * 1024;
/// Texts that may wait to be dropped.
const WAITING: usize = 64;

/// Drops a buffer, on a thread of its own where it is large.
pub fn sweep(bytes: Vec<u8>) {
    static SWEEPER: OnceLock<Sender<Vec<u8>>> = OnceLock::new();
    if bytes.capacity() < LEAST_BYTES {
        return;
    }
    let sweeper = SWEEPER.get_or_init(|| {
        let (sender, waiting) = bounded(WAITING);
        // Without a thread the receiver is gone, and what is sent comes back to be dropped here.
        let spawned = thread::Builder::new().name("sweep".to_owned()).spawn(move || waiting.iter().for_each(drop));
        if let Err(error) = spawned {
            log::error!("no thread to give memory back: {error}");
        }
        sender
    });
    // With too many waiting it is dropped here: late is better than never.
    let _ = sweeper.try_send(bytes);
}
