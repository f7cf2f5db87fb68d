import Foundation

/// Small images for tests, made of their formats' parts by hand; this module has no codec.
enum Images {
  /// 256 x 256 pixels, grey, one bit: all black.
  static let grey256 = [UInt8](
    Data(
      base64Encoded:
        "iVBORw0KGgoAAAANSUhEUgAAAQAAAAEAAQAAAAB0CZXLAAAAH0lEQVR42u3BAQ0AAADCoPdPbQ43oAAAAAAAAAAAvg0hAAABYOSdlwAAAABJRU5ErkJggg=="
    )!)

  /// The black image with a comment behind its end, so that images differ.
  static func grey256(_ comment: String) -> [UInt8] { grey256 + Array(comment.utf8) }

  /// Enough of a PNG for its size.
  static func png(width: Int, height: Int) -> [UInt8] {
    [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13] + Array("IHDR".utf8) + big(width, 4) + big(height, 4)
      + [8, 6, 0, 0, 0] + Array("....IEND".utf8)
  }

  /// Enough of a JPEG for its size, with an application segment, a table and fill bytes before the frame header.
  static func jpeg(width: Int, height: Int, marker: UInt8 = 0xc0) -> [UInt8] {
    [0xff, 0xd8, 0xff, 0xe0, 0, 4, 1, 2, 0xff, 0xc4, 0, 3, 7, 0xff, 0xff, marker, 0, 11, 8] + big(height, 2)
      + big(width, 2) + [1, 1, 0x11, 0]
  }

  /// Enough of a WebP for its size: `VP8 ` (lossy), `VP8L` (lossless) or `VP8X` (extended).
  static func webp(_ kind: String, width: Int, height: Int) -> [UInt8] {
    let head = Array("RIFF".utf8) + [22, 0, 0, 0] + Array("WEBP\(kind)".utf8) + [10, 0, 0, 0]
    switch kind {
    case "VP8 ": return head + [0x10, 0, 0, 0x9d, 0x01, 0x2a] + little(width, 2) + little(height, 2)
    case "VP8L": return head + [0x2f] + little((width - 1) | (height - 1) << 14, 4) + [0, 0, 0, 0, 0]
    default: return head + [0x10, 0, 0, 0] + little(width - 1, 3) + little(height - 1, 3)
    }
  }

  private static func big(_ value: Int, _ count: Int) -> [UInt8] {
    (0..<count).reversed().map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
  }

  private static func little(_ value: Int, _ count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
  }
}
