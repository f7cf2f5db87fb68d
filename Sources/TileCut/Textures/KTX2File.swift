import Support

/// The bytes of a KTX 2.0 file with one ASTC texture (Khronos KTX File Format Specification 2.0): one level, no
/// supercompression, so that a program may map the file and hand its blocks to the GPU.
///
/// ```
/// 0    identifier, header, index         80 bytes
/// 80   level index                       24 bytes
/// 104  data format descriptor            44 bytes
/// 148  key/value data: KTXorientation, KTXwriter
/// n    blocks, at a multiple of 16
/// ```
package struct KTX2File {
  package let width: Int
  package let height: Int
  package let block: TextureBlock
  /// As ``ASTCCodec`` makes them.
  package let blocks: [UInt8]

  package init(width: Int, height: Int, block: TextureBlock, blocks: [UInt8]) {
    (self.width, self.height, self.block, self.blocks) = (width, height, block, blocks)
  }

  package var bytes: [UInt8] {
    let values = Self.keyValues
    let start = (Self.descriptorOffset + Self.descriptorBytes + values.count + 15) / 16 * 16
    var file: [UInt8] = []
    file.reserveCapacity(start + blocks.count)
    file += Self.identifier
    file.add([block.vulkanFormat, 1, UInt32(width), UInt32(height)])
    // No depth and no array, one face, one level, no supercompression.
    file.add([UInt32(0), 0, 1, 1, 0])
    let valueOffset = Self.descriptorOffset + Self.descriptorBytes
    file.add([UInt32(Self.descriptorOffset), UInt32(Self.descriptorBytes), UInt32(valueOffset), UInt32(values.count)])
    file.add([UInt64(0), 0])
    file.add([UInt64(start), UInt64(blocks.count), UInt64(blocks.count)])
    file.add(descriptor)
    file += values
    file += [UInt8](repeating: 0, count: start - file.count)
    return file + blocks
  }

  private static let identifier: [UInt8] = [
    0xab, 0x4b, 0x54, 0x58, 0x20, 0x32, 0x30, 0xbb, 0x0d, 0x0a, 0x1a, 0x0a,
  ]
  private static let descriptorOffset = 104
  private static let descriptorBytes = 44

  /// A basic data format descriptor (Khronos Data Format Specification 1.3): colour model ASTC, primaries of BT.709,
  /// transfer function of sRGB, straight alpha, one sample of 128 bits.
  private var descriptor: [UInt32] {
    let (model, primaries, transfer): (UInt32, UInt32, UInt32) = (162, 1, 2)
    return [
      UInt32(Self.descriptorBytes), 0, 2 | 40 << 16, model | primaries << 8 | transfer << 16,
      UInt32(block.width - 1) | UInt32(block.height - 1) << 8, 16, 0, 127 << 16, 0, 0, .max,
    ]
  }

  /// Sorted by key, each with its length before it and padding to 4 bytes behind.
  private static let keyValues: [UInt8] = {
    var values: [UInt8] = []
    // Rows go down, as in all tiles.
    for (key, value) in [("KTXorientation", "rd"), ("KTXwriter", "tilecut")] {
      let entry = Array(key.utf8) + [0] + Array(value.utf8) + [0]
      values.append(littleEndian: UInt32(entry.count))
      values += entry
      values += [UInt8](repeating: 0, count: (4 - entry.count % 4) % 4)
    }
    return values
  }()
}

extension TextureBlock {
  /// VK_FORMAT_ASTC_*_SRGB_BLOCK.
  fileprivate var vulkanFormat: UInt32 {
    switch self {
    case .four: 158
    case .five: 162
    case .six: 166
    case .eight: 172
    }
  }
}

extension [UInt8] {
  fileprivate mutating func add(_ words: [some FixedWidthInteger]) {
    for word in words { append(littleEndian: word) }
  }
}
