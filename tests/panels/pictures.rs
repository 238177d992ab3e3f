//! A few pinned pictures, small enough to look at one by one. They need a renderer, though no display.
