/// Finds the orientation in the EXIF data of a JPEG, PNG or WebP file (CIPA DC-008, tag 0x0112).
enum ExifOrientation {
  /// 1 to 8; 1 if the file does not say, or its EXIF data are damaged.
  static func code(_ file: SourceFile) -> Int {
    let head = file.prefix(12)
    let block: [UInt8]?
    if head.starts(with: [0xff, 0xd8]) {
      block = jpegBlock(file)
    } else if head.starts(with: [0x89, 0x50, 0x4e, 0x47]) {
      block = chunk("eXIf", of: file, from: 8, lengthFirst: true)
    } else {
      block = chunk("EXIF", of: file, from: 12, lengthFirst: false)
    }
    return block.flatMap(orientation) ?? 1
  }

  private static let markersMax = 1000
  private static let blockBytesMax = 1 << 16

  /// The content of the first APP1 segment with EXIF data.
  private static func jpegBlock(_ file: SourceFile) -> [UInt8]? {
    var offset = 2
    for _ in 0..<markersMax {
      let head = file.bytes(at: offset, count: 10)
      guard head.count == 10, head[0] == 0xff else { return nil }
      // A fill byte, or a marker without content.
      if head[1] == 0xff || head[1] == 0x01 {
        offset += head[1] == 0xff ? 1 : 2
        continue
      }
      let length = Int(head[2]) << 8 | Int(head[3])
      // The image's data begin.
      if head[1] == 0xda || length < 2 { return nil }
      if head[1] == 0xe1, Array(head[4...]) == Array("Exif\0\0".utf8) {
        return file.bytes(at: offset + 10, count: length - 8)
      }
      offset += 2 + length
    }
    return nil
  }

  /// The content of a chunk of a PNG (length, then name) or RIFF file (name, then length).
  private static func chunk(_ name: String, of file: SourceFile, from start: Int, lengthFirst: Bool) -> [UInt8]? {
    var offset = start
    for _ in 0..<markersMax {
      let head = file.bytes(at: offset, count: 8)
      guard head.count == 8 else { return nil }
      let isWanted = Array(name.utf8) == Array(head[lengthFirst ? 4..<8 : 0..<4])
      let digits = lengthFirst ? Array(head[0..<4]) : head[4..<8].reversed()
      let length = digits.reduce(0) { $0 << 8 | Int($1) }
      if isWanted {
        return length <= blockBytesMax ? file.bytes(at: offset + 8, count: length) : nil
      }
      offset += lengthFirst ? length + 12 : 8 + length + length % 2
    }
    return nil
  }

  /// The orientation in the first directory of a TIFF structure.
  private static func orientation(_ bytes: [UInt8]) -> Int? {
    guard bytes.count >= 8 else { return nil }
    let isBig = bytes[0] == 0x4d
    func number(_ offset: Int, _ count: Int) -> Int? {
      guard offset >= 0, offset + count <= bytes.count else { return nil }
      let part = Array(bytes[offset..<offset + count])
      return (isBig ? part : part.reversed()).reduce(0) { $0 << 8 | Int($1) }
    }
    guard number(2, 2) == 42, let directory = number(4, 4), let entries = number(directory, 2) else { return nil }
    for i in 0..<entries {
      let entry = directory + 2 + i * 12
      guard let tag = number(entry, 2) else { return nil }
      if tag == 0x0112 { return number(entry + 8, 2) }
    }
    return nil
  }
}
