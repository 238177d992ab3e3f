//! Stepline: opens the recorded session of an AI agent as a timeline of steps, and forks, reverts or replays from one.
//!
//! The rooms, each of which knows only those after it: `cli` and `ui` · [`workspace`] · [`actions`] · [`formats`] ·
//! [`store`] · [`model`]. `tests/layers.rs` holds that.

pub mod actions;
pub mod cli;
pub mod formats;
pub mod model;
pub mod store;
pub mod ui;
pub mod workspace;
