/// Finds boxes in a JP2 file (ISO 15444-1, annex I).
enum JP2Boxes {
  /// The GeoTIFF in the GeoJP2 box: a UUID box with a TIFF of one pixel that has the tags and keys of a GeoTIFF.
  static func geoTIFF(_ file: SourceFile) -> Range<Int>? {
    for box in boxes(file) where box.type == "uuid" {
      let start = box.content.lowerBound
      if file.bytes(at: start, count: 16) == geoJP2, box.content.count > 16 {
        return start + 16..<box.content.upperBound
      }
    }
    return nil
  }

  private static let geoJP2: [UInt8] = [
    0xb1, 0x4b, 0xf8, 0xbd, 0x08, 0x3d, 0x4b, 0x43, 0xa5, 0xae, 0x8c, 0xd7, 0xd5, 0xa6, 0xce, 0x03,
  ]

  private static let countMax = 10_000

  /// The outermost boxes; those before a damaged one.
  private static func boxes(_ file: SourceFile) -> [(type: String, content: Range<Int>)] {
    var found: [(String, Range<Int>)] = []
    var offset = 0
    while offset < file.size, found.count < countMax {
      let head = file.bytes(at: offset, count: 16)
      guard head.count >= 8 else { break }
      func number(_ range: Range<Int>) -> UInt64 { head[range].reduce(0) { $0 << 8 | UInt64($1) } }
      var length = number(0..<4)
      var headBytes = 8
      if length == 1, head.count == 16 { (length, headBytes) = (number(8..<16), 16) }
      // Zero: up to the end of the file.
      let rest = UInt64(file.size - offset)
      if length == 0 { length = rest }
      guard length >= UInt64(headBytes), length <= rest else { break }
      let type = String(decoding: head[4..<8], as: UTF8.self)
      found.append((type, offset + headBytes..<offset + Int(length)))
      offset += Int(length)
    }
    return found
  }
}
