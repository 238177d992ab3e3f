//! Stands in for the reader of logs that Outpost wrote before 6.0: they are read like journals.

use std::sync::Arc;

use super::read;
use crate::formats::source::Part;
use crate::formats::{Observer, OpenError, Recording};
use crate::store::{Framing, SourceFile};

pub fn open(part: &Part, observer: &dyn Observer) -> Result<Arc<dyn Recording>, OpenError> {
    let file = Arc::new(SourceFile::open(&part.path)?);
    Ok(Arc::new(read::read(file, Framing::Lines, observer)?))
}
