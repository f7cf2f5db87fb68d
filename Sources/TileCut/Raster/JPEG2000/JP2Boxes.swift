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

  /// The root instance in the GML box: an XML box that the label `gml.root-instance` names, in an association box.
  static func gml(_ file: SourceFile) -> [UInt8]? {
    boxes(file).lazy.filter { $0.type == "asoc" }.compactMap { gml(file, in: $0.content, depth: 0) }.first
  }

  private static func gml(_ file: SourceFile, in part: Range<Int>, depth: Int) -> [UInt8]? {
    var isWanted = false
    for box in boxes(file, in: part) {
      switch box.type {
      case "lbl ":
        let label = file.bytes(at: box.content.lowerBound, count: min(box.content.count, 64)).prefix { $0 != 0 }
        isWanted = String(decoding: label, as: UTF8.self) == "gml.root-instance"
      case "xml " where isWanted && box.content.count <= GMLCoverage.bytesMax:
        // Some writers end the text with a zero.
        return Array(file.bytes(at: box.content.lowerBound, count: box.content.count).prefix { $0 != 0 })
      case "asoc" where depth < 4:
        if let found = gml(file, in: box.content, depth: depth + 1) { return found }
      default: break
      }
    }
    return nil
  }

  private static let geoJP2: [UInt8] = [
    0xb1, 0x4b, 0xf8, 0xbd, 0x08, 0x3d, 0x4b, 0x43, 0xa5, 0xae, 0x8c, 0xd7, 0xd5, 0xa6, 0xce, 0x03,
  ]

  /// What the JP2 header box says of the channels.
  struct Channels {
    /// The component that is alpha, from the channel definition box.
    var alpha: Int?
    /// The file has a palette: components appear only in decoded windows.
    var hasPalette = false
  }

  static func channels(_ file: SourceFile) -> Channels {
    var channels = Channels()
    guard let header = boxes(file).first(where: { $0.type == "jp2h" }) else { return channels }
    for box in boxes(file, in: header.content) {
      if box.type == "pclr" { channels.hasPalette = true }
      if box.type == "cdef" {
        let bytes = file.bytes(at: box.content.lowerBound, count: min(box.content.count, 6 * 64 + 2))
        for entry in stride(from: 2, to: bytes.count - 5, by: 6) {
          let kind = Int(bytes[entry + 2]) << 8 | Int(bytes[entry + 3])
          if kind == 1 || kind == 2 { channels.alpha = Int(bytes[entry]) << 8 | Int(bytes[entry + 1]) }
        }
      }
    }
    return channels
  }

  /// Checks the boxes before the codestream, because OpenJPEG ends the process on some that lie outside of the file.
  ///
  /// - Throws: ``CutError`` `.badSource` for a file with damaged boxes or without a codestream.
  static func check(_ file: SourceFile) throws {
    var hasHeader = false
    for box in boxes(file) {
      if box.type == "jp2h" { hasHeader = true }
      if box.type == "jp2c", hasHeader { return }
      if box.isOpen { break }
    }
    throw JP2Codec.failure(file.path, "its boxes are damaged, or it has no codestream")
  }

  private struct Box {
    let type: String
    let content: Range<Int>
    let isOpen: Bool
  }

  private static let countMax = 10_000

  /// The outermost boxes of a part of the file; those before a damaged one. An open one ends with the file.
  private static func boxes(_ file: SourceFile, in part: Range<Int>? = nil) -> [Box] {
    let part = part ?? 0..<file.size
    var found: [Box] = []
    var offset = part.lowerBound
    while offset < part.upperBound, found.count < countMax {
      let head = file.bytes(at: offset, count: 16)
      guard head.count >= 8 else { break }
      func number(_ range: Range<Int>) -> UInt64 { head[range].reduce(0) { $0 << 8 | UInt64($1) } }
      var length = number(0..<4)
      var headBytes = 8
      if length == 1, head.count == 16 { (length, headBytes) = (number(8..<16), 16) }
      // Zero: up to the end of the file.
      let rest = UInt64(part.upperBound - offset)
      let isOpen = length == 0
      if isOpen { length = rest }
      guard length >= UInt64(headBytes), length <= rest else { break }
      let type = String(decoding: head[4..<8], as: UTF8.self)
      found.append(Box(type: type, content: offset + headBytes..<offset + Int(length), isOpen: isOpen))
      offset += Int(length)
    }
    return found
  }
}
