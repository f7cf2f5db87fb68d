import TileImage
import TileIndex

/// A layer's contribution to a tile: stored images and how they are placed. Gathering pieces reads, but decodes
/// nothing.
enum LayerPiece: Sendable {
  /// The tile itself.
  case whole(StoredImage)
  /// The part of an ancestor that covers the tile.
  case part(AncestorPart, size: ImageSize)
  /// The tiles of the next zoom, row by row from the north west; nil where there is none. Each of `size` pixels.
  case quarters([LayerPiece?], size: ImageSize)

  /// The tile itself if there is nothing else to composite.
  var whole: StoredImage? {
    if case .whole(let image) = self { image } else { nil }
  }

  /// True if it is rendered from cached tiles because an upstream is unreachable, which may have better ones.
  var isStandIn: Bool {
    switch self {
    case .whole: false
    case .part(let part, _): part.isStandIn
    case .quarters(let quarters, _): quarters.contains { $0?.isStandIn == true }
    }
  }

  /// All images of the piece.
  var images: [StoredImage] {
    switch self {
    case .whole(let image): [image]
    case .part(let part, _): [part.image]
    case .quarters(let quarters, _): quarters.flatMap { $0?.images ?? [] }
    }
  }
}

/// The part of an ancestor that covers a tile: one cell of a regular division.
struct AncestorPart: Sendable {
  var image: StoredImage
  var column: Enlarge.Cell
  var row: Enlarge.Cell
  /// True if a nearer tile may exist on an upstream that is unreachable.
  var isStandIn = false
}

/// A stored raster tile and its origin.
struct StoredImage: Sendable {
  let bytes: [UInt8]
  /// Detected from the first bytes.
  let format: TileFormat
  let tile: TileID
  let tilesetID: String
  let revision: SourceRevision
  /// What is drawn of it; nil for all.
  var shown: TileShare?

  /// - Throws: ``ServeError`` of code `damagedTile` with the codec's message.
  func decode() throws -> PixelBuffer {
    do {
      let pixels = try bytes.withUnsafeBytes { try ImageDecoder.decode($0, format: format) }
      return shown?.clipped(pixels) ?? pixels
    } catch {
      throw damaged(error)
    }
  }

  func damaged(_ error: any Error) -> ServeError {
    ServeError(.damagedTile, "tile \(tile) of \(tilesetID) is damaged (\(error)): verify the bundle")
  }

  /// True if the file's header proves that no pixel is transparent; false if only decoding can tell.
  var isOpaqueByHeader: Bool {
    if shown != nil { return false }
    return switch format {
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

/// A rectangle of a tile, in shares of its width and height from the top left corner; it may reach beyond the tile.
struct TileShare: Hashable, Sendable {
  var left: Double
  var top: Double
  var right: Double
  var bottom: Double

  /// Whether it leaves out less than half a pixel of any tile.
  var isWhole: Bool {
    let least = 1.0 / 8192
    return left < least && top < least && right > 1 - least && bottom > 1 - least
  }

  /// The pixels of which at least half lies in it; all others are transparent.
  func clipped(_ pixels: PixelBuffer) -> PixelBuffer {
    func edge(_ share: Double, _ count: Int) -> Int { Int((min(max(share, 0), 1) * Double(count)).rounded()) }
    let (left, right) = (edge(left, pixels.width), edge(right, pixels.width))
    let (top, bottom) = (edge(top, pixels.height), edge(bottom, pixels.height))
    let result = PixelBuffer(width: pixels.width, height: pixels.height)
    guard left < right, top < bottom else { return result }
    for row in top..<bottom {
      let offset = row * pixels.rowBytes + left * 4
      (result.bytes + offset).copyMemory(from: pixels.bytes + offset, byteCount: (right - left) * 4)
    }
    return result
  }
}

/// Pixels.
struct ImageSize: Hashable, Sendable {
  var width: Int
  var height: Int

  func times(_ factor: Int) -> ImageSize { ImageSize(width: width * factor, height: height * factor) }

  /// Large enough for both.
  func union(_ other: ImageSize) -> ImageSize {
    ImageSize(width: max(width, other.width), height: max(height, other.height))
  }
}
