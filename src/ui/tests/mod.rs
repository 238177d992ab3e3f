//! What the tests of several panels share.

pub mod fixture;
