/// The supported formats, told apart by their first bytes.
enum RasterFormat {
  case tiff, png, jpeg, webp, jpeg2000, vrt

  /// A VRT may begin with an XML declaration and comments.
  static let bytesWanted = 1024

  init?(_ bytes: [UInt8]) {
    func starts(_ magic: [UInt8]) -> Bool { bytes.starts(with: magic) }
    if starts([0x49, 0x49, 42, 0]) || starts([0x4d, 0x4d, 0, 42]) || starts([0x49, 0x49, 43, 0])
      || starts([0x4d, 0x4d, 0, 43])
    {
      self = .tiff
    } else if starts([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]) {
      self = .png
    } else if starts([0xff, 0xd8]) {
      self = .jpeg
    } else if starts(Array("RIFF".utf8)), bytes.dropFirst(8).starts(with: Array("WEBP".utf8)) {
      self = .webp
    } else if starts([0, 0, 0, 12, 0x6a, 0x50, 0x20, 0x20]) || starts([0xff, 0x4f, 0xff, 0x51]) {
      self = .jpeg2000
    } else if String(decoding: bytes, as: UTF8.self).contains("<VRTDataset") {
      self = .vrt
    } else {
      return nil
    }
  }
}
