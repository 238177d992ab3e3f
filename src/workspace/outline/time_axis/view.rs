//! The part of an axis that is seen.

/// From where to where the axis is seen, in axis units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct View {
    pub start: f64,
    pub end: f64,
}

impl View {
    pub fn span(self) -> f64 {
        (self.end - self.start).max(f64::MIN_POSITIVE)
    }

    pub fn contains(self, position: f64) -> bool {
        (self.start..=self.end).contains(&position)
    }

    /// Where a position lies in it: 0 at its start, 1 at its end.
    pub fn fraction(self, position: f64) -> f64 {
        (position - self.start) / self.span()
    }

    /// The position at a fraction of it.
    pub fn position(self, fraction: f64) -> f64 {
        self.start + fraction * self.span()
    }

    /// Moved by `by` units, no further than an axis of `len` units goes.
    pub fn panned(self, by: f64, len: f64) -> Self {
        Self { start: self.start + by, end: self.end + by }.clamped(len)
    }

    /// `factor` times as wide, with the same place of it at `anchor`, which is at `anchor_then` from then on.
    pub fn zoomed(self, anchor: f64, anchor_then: f64, factor: f64) -> Self {
        let span = self.span() * factor;
        let start = anchor_then - self.fraction(anchor) * span;
        Self { start, end: start + span }
    }

    /// The view of the same width that lies within an axis of `len` units; all of it if the view is wider.
    pub fn clamped(self, len: f64) -> Self {
        let span = self.span();
        if span >= len {
            return Self { start: 0.0, end: len };
        }
        let start = self.start.clamp(0.0, len - span);
        Self { start, end: start + span }
    }

    /// Moved as little as shows `position` with some room around it; unchanged when it is seen already.
    pub fn revealing(self, position: f64, len: f64) -> Self {
        if self.contains(position) {
            return self;
        }
        let margin = self.span() * 0.15;
        let by = if position < self.start { position - margin - self.start } else { position + margin - self.end };
        self.panned(by, len)
    }
}
