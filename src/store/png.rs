//! A picture as a PNG file: the few chunks that a plain RGB image needs.

use std::io::Write;

use flate2::write::ZlibEncoder;
use flate2::{Compression, Crc};

/// Encodes `pixels`, three bytes each, row by row.
pub fn encode_png(width: usize, height: usize, pixels: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut rows = ZlibEncoder::new(Vec::new(), Compression::best());
    for row in pixels.chunks(width.max(1) * 3) {
        // Each pixel as its difference to the one on its left (filter 1): flat grounds become zeros.
        rows.write_all(&[1])?;
        let left = [0; 3].iter().chain(row);
        let filtered: Vec<u8> = row.iter().zip(left).map(|(byte, left)| byte.wrapping_sub(*left)).collect();
        rows.write_all(&filtered)?;
    }
    let rows = rows.finish()?;
    let mut header = Vec::new();
    for side in [width, height] {
        header.extend(u32::try_from(side).unwrap_or(u32::MAX).to_be_bytes());
    }
    // Eight bits a channel, RGB, the standard methods, not interlaced.
    header.extend([8, 2, 0, 0, 0]);
    let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
    for (kind, data) in [(b"IHDR", header.as_slice()), (b"IDAT", &rows), (b"IEND", &[])] {
        file.extend(u32::try_from(data.len()).unwrap_or(u32::MAX).to_be_bytes());
        let mut check = Crc::new();
        for part in [kind.as_slice(), data] {
            file.extend(part);
            check.update(part);
        }
        file.extend(check.sum().to_be_bytes());
    }
    Ok(file)
}
