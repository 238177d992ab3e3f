//! Stands in for the reader of logs of nested observations.

use std::sync::Arc;

use crate::formats::source::Part;
use crate::formats::{Listed, Observer, OpenError, Recording, SessionRef};

pub fn list(part: &Part, _: &dyn Observer) -> Result<Vec<Listed>, OpenError> {
    Ok(vec![Listed::new(SessionRef::file(&part.path), part.format.name)])
}

pub fn open(part: &Part, _: Option<&str>, _: &dyn Observer) -> Result<Arc<dyn Recording>, OpenError> {
    let explanation = "a log of nested observations, which this version does not open".to_owned();
    Err(OpenError::Unknown { explanation, path: part.path.clone() })
}
