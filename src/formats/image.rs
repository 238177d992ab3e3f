//! What is known of an image from the start of its Base64: nothing is decoded that is not asked for.

use std::io::Cursor;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// Of the Base64, so many characters are looked at: some cameras put a preview before the size.
const HEAD_CHARS: usize = 128 * 1024;

/// An image among an event's attachments, kept in the recording itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageHead {
    /// Which of the attachments it is.
    pub attachment: usize,
    /// Bytes of the image's file.
    pub bytes: u64,
    /// Width and height in pixels, where the file's head tells.
    pub size: Option<(u32, u32)>,
}

impl ImageHead {
    /// Of the attachment with this number, from the image's Base64.
    pub fn of(attachment: usize, base64: &str) -> Self {
        Self { attachment, bytes: decoded_bytes(base64), size: size_of(base64) }
    }
}

/// Bytes that Base64 stands for: three for four characters, fewer for padding.
pub fn decoded_bytes(base64: &str) -> u64 {
    let padding = base64.bytes().rev().take_while(|byte| *byte == b'=').count();
    (base64.len() as u64 * 3 / 4).saturating_sub(padding as u64)
}

fn size_of(base64: &str) -> Option<(u32, u32)> {
    let whole = base64.len().min(HEAD_CHARS) / 4 * 4;
    let head = STANDARD.decode(base64.as_bytes().get(..whole)?).ok()?;
    image::ImageReader::new(Cursor::new(head)).with_guessed_format().ok()?.into_dimensions().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_is_known_from_the_head_alone() {
        let noise: Vec<u8> = (0..300 * 200 * 3_u32).map(|n| n.wrapping_mul(2_654_435_761).to_be_bytes()[0]).collect();
        let png = STANDARD.encode(crate::store::encode_png(300, 200, &noise).unwrap());
        let head = ImageHead::of(2, png.get(..1_000).unwrap());
        assert_eq!(head, ImageHead { attachment: 2, bytes: 750, size: Some((300, 200)) });
        assert_eq!(ImageHead::of(0, "AAAAAAA="), ImageHead { attachment: 0, bytes: 5, size: None });
        assert_eq!(ImageHead::of(0, "é no Base64").size, None);
        assert_eq!(ImageHead::of(0, ""), ImageHead { attachment: 0, bytes: 0, size: None });
    }
}
