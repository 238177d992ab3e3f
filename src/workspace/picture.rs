//! An image of a session, decoded because somebody wants to see it. It comes from a stranger: what it may cost is
//! bounded before anything is unpacked, and it is made no larger than it is shown.

use std::io::Cursor;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use image::error::ImageError;
use image::{DynamicImage, ImageDecoder, ImageFormat, ImageReader, Limits};

/// A file of more bytes is not decoded.
const MAX_FILE_BYTES: usize = 64 * 1024 * 1024;
/// An image of more pixels is not decoded: a file of few bytes may say that it has any number.
const MAX_PIXELS: u64 = 40_000_000;
/// A side of more pixels is none of a picture.
const MAX_SIDE: u32 = 32_768;
/// What decoding may take, the image itself included.
const MAX_DECODED_BYTES: u64 = 256 * 1024 * 1024;
/// It is shown no larger, in pixels; a larger one is made smaller.
pub const SHOWN_SIDE: u32 = 1_024;

/// An image as it is shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Picture {
    pub width: usize,
    pub height: usize,
    /// Four bytes a pixel, colours multiplied by their opacity.
    pub rgba: Vec<u8>,
}

impl std::fmt::Debug for Picture {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Picture {} × {}", self.width, self.height)
    }
}

impl Picture {
    /// Decodes an image from its Base64; an animation's first frame. The error is one sentence.
    pub fn decode(base64: &str) -> Result<Self, String> {
        if base64.len() / 4 * 3 > MAX_FILE_BYTES {
            return Err(format!("it is larger than {} MB", MAX_FILE_BYTES / 1024 / 1024));
        }
        let file = match STANDARD.decode(base64) {
            Ok(file) => file,
            // Some writers break it into lines.
            Err(_) => {
                let joined: Vec<u8> = base64.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
                STANDARD.decode(joined).map_err(|_| "what is recorded is no Base64".to_owned())?
            }
        };
        let image = decoded(&file).map_err(|error| sentence(&error))?;
        drop(file);
        Ok(Self::of(image))
    }

    fn of(image: DynamicImage) -> Self {
        let is_large = image.width() > SHOWN_SIDE || image.height() > SHOWN_SIDE;
        let image = if is_large { image.thumbnail(SHOWN_SIDE, SHOWN_SIDE) } else { image }.into_rgba8();
        let (width, height) = (image.width() as usize, image.height() as usize);
        let mut rgba = image.into_raw();
        for pixel in rgba.chunks_exact_mut(4) {
            if let [red, green, blue, opacity] = pixel
                && *opacity < u8::MAX
            {
                for colour in [red, green, blue] {
                    *colour = (u16::from(*colour) * u16::from(*opacity) / 255) as u8;
                }
            }
        }
        Self { width, height, rgba }
    }

    /// Memory it holds, in bytes.
    pub fn bytes(&self) -> usize {
        self.rgba.len()
    }
}

enum Fault {
    Kind,
    Pixels(u32, u32),
    Image(ImageError),
}

impl From<ImageError> for Fault {
    fn from(error: ImageError) -> Self {
        Self::Image(error)
    }
}

fn decoded(file: &[u8]) -> Result<DynamicImage, Fault> {
    let mut limits = Limits::default();
    limits.max_alloc = Some(MAX_DECODED_BYTES);
    let mut reader = ImageReader::new(Cursor::new(file)).with_guessed_format().map_err(|_| Fault::Kind)?;
    let shown = [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::Gif, ImageFormat::WebP];
    if !reader.format().is_some_and(|format| shown.contains(&format)) {
        return Err(Fault::Kind);
    }
    reader.limits(limits.clone());
    let mut decoder = reader.into_decoder()?;
    let (width, height) = decoder.dimensions();
    let pixels = u64::from(width) * u64::from(height);
    if pixels > MAX_PIXELS || width > MAX_SIDE || height > MAX_SIDE || decoder.total_bytes() > MAX_DECODED_BYTES {
        return Err(Fault::Pixels(width, height));
    }
    decoder.set_limits(limits)?;
    // A camera that was held upright says so beside the picture.
    let orientation = decoder.orientation().ok();
    let mut image = DynamicImage::from_decoder(decoder)?;
    if let Some(orientation) = orientation {
        image.apply_orientation(orientation);
    }
    Ok(image)
}

fn sentence(fault: &Fault) -> String {
    match fault {
        Fault::Kind => "it is no PNG, JPEG, GIF or WebP".to_owned(),
        Fault::Pixels(width, height) => {
            format!("it has {width} × {height} pixels; more than {} million are not shown", MAX_PIXELS / 1_000_000)
        }
        Fault::Image(ImageError::Limits(_)) => {
            format!("it needs more than {} MB to be shown", MAX_DECODED_BYTES / 1024 / 1024)
        }
        Fault::Image(ImageError::Unsupported(_)) => "it is of a kind that is not known".to_owned(),
        Fault::Image(error) => format!("it is damaged: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use image::{Rgba, RgbaImage};

    use super::*;
    use crate::store::encode_png;

    fn base64(bytes: &[u8]) -> String {
        STANDARD.encode(bytes)
    }

    fn as_format(image: &RgbaImage, format: ImageFormat) -> String {
        let mut file = Cursor::new(Vec::new());
        let image = DynamicImage::from(image.clone());
        match format {
            ImageFormat::Jpeg => image.into_rgb8().write_to(&mut file, format).unwrap(),
            _ => image.write_to(&mut file, format).unwrap(),
        }
        base64(file.get_ref())
    }

    #[test]
    fn the_four_kinds_are_shown() {
        let image = RgbaImage::from_pixel(30, 20, Rgba([200, 100, 0, 255]));
        for format in [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::Gif, ImageFormat::WebP] {
            let picture = Picture::decode(&as_format(&image, format)).unwrap();
            assert_eq!((picture.width, picture.height, picture.bytes()), (30, 20, 2_400), "{format:?}");
            assert!(picture.rgba[0].abs_diff(200) < 6 && picture.rgba[2] < 6, "{format:?}");
        }
        let faint = RgbaImage::from_pixel(1, 1, Rgba([200, 100, 0, 51]));
        assert_eq!(Picture::decode(&as_format(&faint, ImageFormat::Png)).unwrap().rgba, [40, 20, 0, 51]);
    }

    #[test]
    fn a_large_one_is_made_no_larger_than_it_is_shown() {
        let png = encode_png(3_000, 1_000, &vec![120; 3_000 * 1_000 * 3]).unwrap();
        let picture = Picture::decode(&base64(&png)).unwrap();
        assert_eq!((picture.width, picture.height), (1_024, 341));
    }

    #[test]
    fn base64_in_lines_is_read_too() {
        let text = base64(&encode_png(4, 4, &[9; 48]).unwrap());
        let lines: Vec<&str> = [&text[..60], &text[60..]].into();
        assert_eq!(Picture::decode(&lines.join("\r\n")).unwrap().width, 4);
    }

    #[test]
    fn what_is_not_shown_says_why() {
        // A bomb: black rows without end in a few kilobytes. Only the head is looked at.
        let mut bomb = encode_png(1, 1, &[0, 0, 0]).unwrap();
        bomb[16..24].copy_from_slice(&[0, 0, 0xEA, 0x60, 0, 0, 0xEA, 0x60]);
        let mut check = flate2::Crc::new();
        check.update(&bomb[12..29]);
        bomb[29..33].copy_from_slice(&check.sum().to_be_bytes());
        let cut = encode_png(100, 100, &(0..30_000).map(|n| (n * 7 % 251) as u8).collect::<Vec<_>>()).unwrap();
        for (text, reason) in [
            (base64(&bomb), "it has 60000 × 60000 pixels; more than 40 million are not shown"),
            (base64(b"BM no picture that is shown"), "it is no PNG, JPEG, GIF or WebP"),
            (String::new(), "it is no PNG, JPEG, GIF or WebP"),
            ("no Base64 at all!".to_owned(), "what is recorded is no Base64"),
            ("A".repeat(100 * 1024 * 1024), "it is larger than 64 MB"),
        ] {
            assert_eq!(Picture::decode(&text).unwrap_err(), reason);
        }
        let damaged = Picture::decode(&base64(&cut[..200])).unwrap_err();
        assert!(damaged.starts_with("it is damaged: "), "{damaged}");
    }
}
