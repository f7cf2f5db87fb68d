import Support
import Synchronization
import TileImage
import TileIndex

/// Renders tiles from pieces. ``TileRendererPool`` lends it to one thread at a time, hence the unchecked `Sendable`.
final class TileRenderer: @unchecked Sendable {
  private var encoders: [TileEncoding: TileEncoder] = [:]
  /// The ancestor decoded last: a screen beyond the deepest zoom consists of parts of few ancestors.
  private var ancestor: (revision: SourceRevision, tile: TileID, shown: TileShare?, pixels: PixelBuffer)?

  /// Composites the pieces, the lowest first, at the largest of their sizes.
  ///
  /// A topmost piece without transparent pixels hides the others, which are then not decoded; when it is a whole tile
  /// of a fitting format its stored bytes come back.
  ///
  /// - Throws: ``ServeError`` of code `damagedTile`; `ImageError` when the result cannot be encoded.
  func draw(_ pieces: [LayerPiece], format: TileFormat) throws -> Tile {
    // 1. Decode from the top down to the first opaque piece.
    var pictures: [PixelBuffer] = []
    for piece in pieces.reversed() {
      let picture = try picture(of: piece)
      pictures.append(picture)
      if pieces.count > 1, picture.opacity == .opaque { break }
    }
    // 2. A single whole tile may be returned as stored.
    if pictures.count == 1, let image = pieces.last?.whole, image.format == format, image.shown == nil {
      return Tile(bytes: image.bytes, format: format)
    }
    // 3. Composite from the bottom up, at the same size.
    let size = pictures.reduce(ImageSize(width: 1, height: 1)) { $0.union($1.size) }
    let result = enlarged(pictures.removeLast(), to: size)
    for picture in pictures.reversed() { Overlay.draw(enlarged(picture, to: size), over: result) }
    try Cancellation.check()
    // 4. Encode; lossless input stays lossless if the format allows both.
    let isLossless = !pieces.contains { $0.images.contains { $0.isLossy } }
    return Tile(bytes: try encode(result, as: Self.encoding(format, isLossless: isLossless)), format: format)
  }

  /// A tile of one colour.
  func drawBlank(_ size: ImageSize, format: TileFormat) throws -> Tile {
    let pixels = PixelBuffer(width: size.width, height: size.height)
    return Tile(bytes: try encode(pixels, as: Self.encoding(format, isLossless: true)), format: format)
  }

  private func picture(of piece: LayerPiece) throws -> PixelBuffer {
    try Cancellation.check()
    switch piece {
    case .whole(let image): return try image.decode()
    case .part(let part, let size):
      let picture = PixelBuffer(width: size.width, height: size.height)
      Enlarge.draw(try pixels(ofAncestor: part.image), column: part.column, row: part.row, into: picture)
      return picture
    case .quarters(let quarters, let size):
      let picture = PixelBuffer(width: 2 * size.width, height: 2 * size.height)
      for (index, quarter) in quarters.enumerated() {
        guard let quarter else { continue }
        picture.copy(
          enlarged(try self.picture(of: quarter), to: size), x: index % 2 * size.width, y: index / 2 * size.height)
      }
      return picture
    }
  }

  private func pixels(ofAncestor image: StoredImage) throws -> PixelBuffer {
    if let ancestor, ancestor.revision == image.revision, ancestor.tile == image.tile, ancestor.shown == image.shown {
      return ancestor.pixels
    }
    let pixels = try image.decode()
    // Every renderer keeps one; unusually large buffers are released.
    ancestor = pixels.byteCount <= Self.keptBytesMax ? (image.revision, image.tile, image.shown, pixels) : nil
    return pixels
  }

  private func enlarged(_ picture: PixelBuffer, to size: ImageSize) -> PixelBuffer {
    guard picture.size != size else { return picture }
    let result = PixelBuffer(width: size.width, height: size.height)
    Enlarge.draw(picture, into: result)
    return result
  }

  private func encode(_ pixels: PixelBuffer, as encoding: TileEncoding) throws -> [UInt8] {
    if let encoder = encoders[encoding] { return try encoder.encode(pixels) }
    let encoder = TileEncoder(encoding)
    encoders[encoding] = encoder
    return try encoder.encode(pixels)
  }

  private static func encoding(_ format: TileFormat, isLossless: Bool) -> TileEncoding {
    switch format {
    case .png: .png(PNGOptions(effort: .fast, compressionLevel: pngLevel))
    case .jpg: .jpeg(JPEGOptions())
    case .webp: .webp(WebPOptions(lossless: isLossless, effort: isLossless ? webPLosslessEffort : webPLossyEffort))
    case .pbf: preconditionFailure("vector tiles are not drawn")
    }
  }

  private static let keptBytesMax = 1 << 20

  // Fast encoder settings, because a client waits for a rendered tile. Measured by TileBench on 256-pixel tiles of
  // shaded relief and of a satellite image, a quarter enlarged (ms and bytes, mean of a tile; one core of a small, busy
  // x86-64 server):
  //
  //              PNG 1   PNG 4   PNG 5   JPEG   WebP lossless 0      1   WebP lossy 0      2      4
  //   relief      1.09    1.80    2.30   0.41              3.02  12.27           1.23   2.11   5.07
  //             29,058  27,410  26,982  3,984            23,994 19,510          2,898  2,272  2,121
  //   satellite   0.67    1.29    1.64   0.31              1.41   5.13           1.01   1.50   3.07
  //             25,880  25,300  25,150  4,039            21,234 17,109          3,377  2,812  2,637

  /// Level 4 takes almost twice the time for 2-6% of the bytes.
  private static let pngLevel = 1
  /// Smaller than PNG already; the next step takes four times as long for a fifth of the bytes.
  private static let webPLosslessEffort = 0
  private static let webPLossyEffort = 2
}

extension PixelBuffer {
  var size: ImageSize { ImageSize(width: width, height: height) }
}

/// The renderers that are not in use. The one used last is lent first, because its buffers are in the processor's
/// cache.
final class TileRendererPool: Sendable {
  private let renderers = Mutex<[TileRenderer]>([])

  func withRenderer<Result>(_ body: (TileRenderer) throws -> Result) rethrows -> Result {
    let renderer = renderers.withLock { $0.popLast() } ?? TileRenderer()
    defer { renderers.withLock { $0.append(renderer) } }
    return try body(renderer)
  }

  /// Releases the buffers of renderers that are not in use.
  func clear() { renderers.withLock { $0 = [] } }
}

/// Blank tiles, created once: transparent, or white if the format has no transparency.
final class BlankTiles: Sendable {
  private struct Key: Hashable {
    var size: ImageSize
    var format: TileFormat
  }

  private let tiles = Mutex<[Key: Tile]>([:])

  func tile(_ size: ImageSize, format: TileFormat, renderers: TileRendererPool) throws -> Tile {
    let key = Key(size: size, format: format)
    if let tile = tiles.withLock({ $0[key] }) { return tile }
    let tile = try renderers.withRenderer { try $0.drawBlank(size, format: format) }
    tiles.withLock { $0[key] = tile }
    return tile
  }
}
