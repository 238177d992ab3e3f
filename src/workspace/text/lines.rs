//! A text of any length as lines that can be drawn one by one.

/// A text cut into lines; line `i` is a slice of it.
#[derive(Clone, Debug, Default)]
pub struct LongText {
    text: String,
    /// Where each line starts.
    starts: Vec<u32>,
}

impl LongText {
    pub fn new(text: &str) -> Self {
        let mut starts = vec![0];
        starts.extend(memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| at as u32 + 1));
        Self { text: text.to_owned(), starts }
    }

    pub fn line_count(&self) -> usize {
        self.starts.len()
    }

    pub fn line(&self, index: usize) -> &str {
        let start = self.starts.get(index).map_or(self.text.len(), |start| *start as usize);
        let end = self.starts.get(index + 1).map_or(self.text.len(), |start| *start as usize);
        self.text.get(start..end).unwrap_or_default().trim_end_matches('\n')
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub fn bytes(&self) -> usize {
        self.text.len() + self.starts.len() * 4
    }
}
