import Foundation
import TestSupport

/// Writes small uncompressed TIFFs with any layout. It follows the specification and shares no code with the reader.
struct TIFFFixture {
  enum Value {
    case short([Int])
    case long([Int])
    case double([Double])
    case text(String)

    var type: Int {
      switch self {
      case .short: 3
      case .long: 4
      case .double: 12
      case .text: 2
      }
    }
    var count: Int {
      switch self {
      case .short(let list), .long(let list): list.count
      case .double(let list): list.count
      case .text(let text): text.utf8.count + 1
      }
    }
  }

  var width = 70
  var height = 50
  var samples = 1
  var bits = 8
  /// 1 unsigned, 2 signed, 3 float.
  var format = 1
  var photometric = 1
  var isSeparate = false
  var isBigEndian = false
  var isBigTIFF = false
  /// The tile size; nil means strips.
  var tile: (width: Int, height: Int)?
  var rowsPerStrip = 7
  /// Additional tags, by number.
  var tags: [Int: Value] = [:]
  /// The numbers of blocks that are missing in the file.
  var missing: Set<Int> = []
  /// The sample of band `band` at x, y.
  var sample: @Sendable (_ x: Int, _ y: Int, _ band: Int) -> Double = { x, y, band in
    Double((x * 3 + y * 5 + band * 70) % 251)
  }
  /// The mask in a second directory: which pixels are visible.
  var mask: (@Sendable (_ x: Int, _ y: Int) -> Bool)?

  /// Tags that place the raster in EPSG:4326 with pixels of 0.1 degrees.
  static let placed: [Int: Value] = [
    33550: .double([0.1, 0.1, 0]), 33922: .double([0, 0, 0, 10, 50, 0]),
    34735: .short([1, 1, 0, 3, 1024, 0, 1, 2, 1025, 0, 1, 1, 2048, 0, 1, 4326]),
  ]

  func data() -> Data {
    var file = Bytes(isBigEndian: isBigEndian, isBig: isBigTIFF)
    file.header()
    let image = file.directory(self, next: mask != nil)
    file.patch(firstDirectory: image.position)
    if let mask {
      var copy = TIFFFixture(width: width, height: height)
      copy.photometric = 4
      copy.bits = 1
      copy.rowsPerStrip = 16
      copy.isBigEndian = isBigEndian
      copy.tags = [254: .long([4])]
      copy.sample = { x, y, _ in mask(x, y) ? 1 : 0 }
      let second = file.directory(copy, next: false)
      file.patch(nextDirectoryAt: image.nextPosition, to: second.position)
    }
    return file.data
  }

  /// Writes the file to a temporary folder.
  func write(_ folder: TemporaryFolder, _ name: String = "fixture.tif") throws -> String {
    let url = folder.url.appendingPathComponent(name)
    try data().write(to: url)
    return url.path
  }

  /// The blocks' bytes, plane by plane.
  fileprivate func blocks() -> [[UInt8]] {
    let blockWidth = tile?.width ?? width
    let blockHeight = tile?.height ?? rowsPerStrip
    var list: [[UInt8]] = []
    for plane in isSeparate ? Array(0..<samples) : [0] {
      for top in stride(from: 0, to: height, by: blockHeight) {
        for left in stride(from: 0, to: width, by: blockWidth) {
          if missing.contains(list.count) {
            list.append([])
            continue
          }
          let rows = tile == nil ? min(blockHeight, height - top) : blockHeight
          var packer = BitPacker(isBigEndian: isBigEndian)
          for y in top..<top + rows {
            for x in left..<left + blockWidth {
              for band in isSeparate ? [plane] : Array(0..<samples) {
                let value = x < width && y < height ? sample(x, y, band) : 0
                packer.put(value, bits: bits, format: format)
              }
            }
            packer.endRow()
          }
          list.append(packer.bytes)
        }
      }
    }
    return list
  }

  /// Packs samples, most significant bit first, rows padded to bytes.
  private struct BitPacker {
    let isBigEndian: Bool
    var bytes: [UInt8] = []
    private var pending = 0
    private var pendingBits = 0

    init(isBigEndian: Bool) { self.isBigEndian = isBigEndian }

    mutating func put(_ value: Double, bits: Int, format: Int) {
      if bits % 8 != 0 {
        pending = pending << bits | Int(value)
        pendingBits += bits
        while pendingBits >= 8 {
          pendingBits -= 8
          bytes.append(UInt8(pending >> pendingBits & 255))
        }
        pending &= 1 << pendingBits - 1
        return
      }
      let pattern: UInt64 =
        switch (format, bits) {
        case (3, 16): UInt64(Self.half(value))
        case (3, 32): UInt64(Float(value).bitPattern)
        case (3, _): value.bitPattern
        case (2, _): UInt64(bitPattern: Int64(value))
        default: UInt64(value)
        }
      let little = (0..<bits / 8).map { UInt8(truncatingIfNeeded: pattern >> (8 * $0)) }
      bytes += isBigEndian ? little.reversed() : little
    }

    mutating func endRow() {
      guard pendingBits > 0 else { return }
      bytes.append(UInt8(pending << (8 - pendingBits) & 255))
      (pending, pendingBits) = (0, 0)
    }

    /// Binary16 of an integer below 2048, or of NaN.
    private static func half(_ value: Double) -> UInt16 {
      if value.isNaN { return 0x7e00 }
      if value == 0 { return 0 }
      let exponent = Int(value.exponent)
      let fraction = Int((value / Double(sign: .plus, exponent: exponent, significand: 1) - 1) * 1024)
      return UInt16((exponent + 15) << 10 | fraction)
    }
  }

  /// A TIFF file that is being written.
  private struct Bytes {
    let isBigEndian: Bool
    let isBig: Bool
    var data = Data()

    init(isBigEndian: Bool, isBig: Bool) { (self.isBigEndian, self.isBig) = (isBigEndian, isBig) }

    func number(_ value: Int, _ count: Int) -> [UInt8] {
      let little = (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
      return isBigEndian ? little.reversed() : little
    }

    mutating func header() {
      data += (isBigEndian ? "MM" : "II").utf8
      data += isBig ? number(43, 2) + number(8, 2) + number(0, 2) + number(0, 8) : number(42, 2) + number(0, 4)
    }

    mutating func patch(firstDirectory position: Int) {
      data.replaceSubrange(isBig ? 8..<16 : 4..<8, with: number(position, isBig ? 8 : 4))
    }

    mutating func patch(nextDirectoryAt place: Int, to position: Int) {
      data.replaceSubrange(place..<place + (isBig ? 8 : 4), with: number(position, isBig ? 8 : 4))
    }

    private func encode(_ value: Value) -> [UInt8] {
      switch value {
      case .short(let list): list.flatMap { number($0, 2) }
      case .long(let list): list.flatMap { number($0, 4) }
      case .double(let list): list.flatMap { number(Int(bitPattern: UInt($0.bitPattern)), 8) }
      case .text(let text): Array(text.utf8) + [0]
      }
    }

    mutating func directory(_ fixture: TIFFFixture, next: Bool) -> (position: Int, nextPosition: Int) {
      let blocks = fixture.blocks()
      var offsets: [Int] = []
      var counts: [Int] = []
      for (i, block) in blocks.enumerated() {
        let isMissing = fixture.missing.contains(i)
        if data.count % 2 == 1 { data.append(0) }
        offsets.append(isMissing ? 0 : data.count)
        counts.append(isMissing ? 0 : block.count)
        if !isMissing { data += block }
      }
      var tags: [Int: Value] = [
        256: .long([fixture.width]), 257: .long([fixture.height]),
        258: .short([Int](repeating: fixture.bits, count: fixture.samples)), 259: .short([1]),
        262: .short([fixture.photometric]), 277: .short([fixture.samples]),
        284: .short([fixture.isSeparate ? 2 : 1]),
        339: .short([Int](repeating: fixture.format, count: fixture.samples)),
      ]
      if let tile = fixture.tile {
        tags[322] = .long([tile.width])
        tags[323] = .long([tile.height])
        tags[324] = .long(offsets)
        tags[325] = .long(counts)
      } else {
        tags[278] = .long([fixture.rowsPerStrip])
        tags[273] = .long(offsets)
        tags[279] = .long(counts)
      }
      tags.merge(fixture.tags) { $1 }
      let valueBytes = isBig ? 8 : 4
      var entries: [UInt8] = []
      for (tag, value) in tags.sorted(by: { $0.key < $1.key }) {
        let bytes = encode(value)
        entries += number(tag, 2) + number(value.type, 2) + number(value.count, isBig ? 8 : 4)
        if bytes.count <= valueBytes {
          entries += bytes + [UInt8](repeating: 0, count: valueBytes - bytes.count)
        } else {
          if data.count % 2 == 1 { data.append(0) }
          entries += number(data.count, valueBytes)
          data += bytes
        }
      }
      if data.count % 2 == 1 { data.append(0) }
      let position = data.count
      data += number(tags.count, isBig ? 8 : 2) + entries
      let nextPosition = data.count
      data += number(0, valueBytes)
      return (position, nextPosition)
    }
  }
}
