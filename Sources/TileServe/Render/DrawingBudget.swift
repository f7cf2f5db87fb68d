import TileImage
import TileIndex

/// Limits the memory of all tiles that are being decoded and drawn at a time.
///
/// How much a drawing takes is known from the headers of its tiles, before one is decoded (``byteCount(of:)``).
package struct DrawingBudget: Sendable {
  private let budget: PixelBudget

  package init(byteCountMax: Int) { budget = PixelBudget(byteCountMax: byteCountMax) }

  /// Draws when there is room for it. Blocks until then.
  ///
  /// - Throws: ``ServeError`` of code `tooLarge` if there never is, and of `damagedTile`; `CancellationError`; what the
  ///   closure throws.
  func drawing<Result>(_ pieces: [LayerPiece], _ draw: () throws -> Result) throws -> Result {
    let byteCount = try Self.byteCount(of: pieces)
    guard byteCount <= budget.byteCountMax else { throw Self.tooLarge(pieces, byteCount, budget.byteCountMax) }
    return try budget.using(byteCount, draw)
  }
}

extension DrawingBudget {
  private static func byteCount(of pieces: [LayerPiece]) throws -> Int {
    let needs = try pieces.map(need)
    let size = needs.reduce(ImageSize(width: 1, height: 1)) { $0.union($1.size) }
    // The picture that is encoded, and one that is enlarged to its size.
    return needs.reduce(0) { $0 + $1.byteCount } + size.byteCount * (pieces.count > 1 ? 2 : 1)
  }

  private static func need(_ piece: LayerPiece) throws -> (byteCount: Int, size: ImageSize) {
    switch piece {
    case .whole(let image): return try image.decodingNeed()
    case .part(let part, let size): return (try part.image.decodingNeed().byteCount + size.byteCount, size)
    case .quarters(let quarters, let size):
      let parts = try quarters.compactMap(\.self).map(need)
      let whole = size.times(2)
      // Each quarter is enlarged to the size before it is copied.
      return (parts.reduce(whole.byteCount + size.byteCount) { $0 + $1.byteCount }, whole)
    }
  }

  private static func tooLarge(_ pieces: [LayerPiece], _ byteCount: Int, _ byteCountMax: Int) -> ServeError {
    func pixels(_ image: StoredImage) -> ImageSize {
      (try? image.decodingNeed().size) ?? ImageSize(width: 0, height: 0)
    }
    let sizes = pieces.flatMap(\.images).map { (image: $0, size: pixels($0)) }
    let (image, size) = sizes.max { $0.size.byteCount < $1.size.byteCount }!
    return ServeError(
      .tooLarge,
      """
      tile \(image.tile) of \(image.tilesetID) has \(size.width) x \(size.height) pixels: drawing it takes \
      \(byteCount / 1_000_000) MB, and \(byteCountMax / 1_000_000) MB are for all that is drawn
      """, remedy: "ask for the tile as it is stored, or give the server more memory for drawing")
  }
}

extension StoredImage {
  /// The memory that ``decode()`` takes, and the picture's size, by the header alone.
  ///
  /// - Throws: ``ServeError``: `tooLarge` for more pixels than any tile may have; `damagedTile`.
  fileprivate func decodingNeed() throws -> (byteCount: Int, size: ImageSize) {
    do {
      let need = try bytes.withUnsafeBytes { try ImageDecoder.need(of: $0, format: format) }
      return (need.byteCount, ImageSize(width: need.width, height: need.height))
    } catch let error as ImageError where error.code == .tooLarge {
      throw ServeError(
        .tooLarge, "tile \(tile) of \(tilesetID) has \(error)", remedy: "ask for the tile as it is stored")
    } catch {
      throw damaged(error)
    }
  }
}

extension ImageSize {
  fileprivate var byteCount: Int { width * height * 4 }
}
