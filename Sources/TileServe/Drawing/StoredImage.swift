import TileImage
import TileIndex

/// A stored raster tile and where it came from.
struct StoredImage: Sendable {
  let bytes: [UInt8]
  /// By the first bytes.
  let format: TileFormat
  let tile: TileID
  let tilesetID: String
  let revision: SourceRevision

  /// - Throws: ``ServeError`` of code `damagedTile`, in the codec's words.
  func decode() throws -> PixelBuffer {
    do {
      return try bytes.withUnsafeBytes { try ImageDecoder.decode($0, format: format) }
    } catch {
      throw ServeError(
        .damagedTile, "tile \(tile) of \(tilesetID) is damaged (\(error)): check the bundle with tilecut verify")
    }
  }

  /// True when the file's header alone tells that no pixel is transparent; false when only the pixels can tell.
  var isOpaqueByHeader: Bool {
    switch format {
    case .jpg: true
    case .png: isOpaquePNG
    // The container's simple form (RFC 9649, section 2.5) is lossy without alpha.
    case .webp: bytes.count > 16 && bytes[12..<16].elementsEqual("VP8 ".utf8)
    case .pbf: false
    }
  }

  /// True for the lossy forms.
  var isLossy: Bool {
    switch format {
    case .jpg: true
    case .webp: !(bytes.count > 16 && bytes[12..<16].elementsEqual("VP8L".utf8))
    case .png, .pbf: false
    }
  }

  /// Without an alpha channel, and without tRNS, which comes before the pixels (ISO/IEC 15948, 5.6 and 11.3.2).
  private var isOpaquePNG: Bool {
    guard bytes.count > 33, bytes[25] & 4 == 0 else { return false }
    var offset = 33
    while offset + 8 <= bytes.count {
      let type = bytes[(offset + 4)..<(offset + 8)]
      if type.elementsEqual("IDAT".utf8) { return true }
      if type.elementsEqual("tRNS".utf8) { return false }
      let length = bytes[offset..<(offset + 4)].reduce(0) { $0 << 8 | Int($1) }
      offset += 12 + length
    }
    return false
  }
}
