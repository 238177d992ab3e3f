//! What the benchmark is made of: a writer of large made-up transcripts, and readings of time and memory.

pub mod measure;
mod prose;
mod random;
pub mod stores;
pub mod transcript;
