//! Parts that several panels draw with.

pub mod chips;
pub mod icons;
pub mod time_axis;
