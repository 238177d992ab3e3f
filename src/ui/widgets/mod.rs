//! Parts that several panels draw with.

pub mod chips;
pub mod icons;
pub mod long_text;
pub mod markdown;
pub mod virtual_list;
