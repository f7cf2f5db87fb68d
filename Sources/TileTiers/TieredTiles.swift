import TileImage
public import TileIndex
public import TilePrefetch

/// Tiles in two tiers: decoded, ready to be drawn, and behind these encoded, as the source has them. Each has a budget of its own.
///
/// 1. A picture that is there is handed out. 2. Otherwise its bytes are decoded, when they are there. 3. Otherwise the source is asked; what it gives stays in both tiers.
///
/// A tile takes some 20 to 40 KiB encoded, 65 in a palette, 256 as pixels, so a sixth of the memory for the encoded tier holds about as many tiles as the rest. It pays where the source is
/// slower than decoding, a network or a drawing; a bundle on a good disk is as fast as it.
///
/// With a ``MapLoader``, give it ``decoded`` as its cache, and in each loader `loader.finish(load, tiles.load(load.key))`.
public final class TieredTiles: Sendable {
  public let decoded: TileCache<TileID, TilePicture>
  public let encoded: TileCache<TileID, [UInt8]>
  private let source: @Sendable (TileID) throws -> [UInt8]?

  /// What is reserved for a tile of 256 pixels before it is known what it takes.
  public static var decodedCostMax: Int { 256 << 10 }
  public static var encodedCostMax: Int { 64 << 10 }

  /// - Parameters:
  ///   - decodedBytes: the budget of the decoded tier.
  ///   - encodedBytes: that of the encoded tier, which lets the least recently used go; 0 for none.
  ///   - source: a tile's bytes; nil where there is none. Blocks; called by several threads at once, once for a tile that several want.
  public init(
    decodedBytes: Int, encodedBytes: Int, source: @escaping @Sendable (TileID) throws -> [UInt8]?
  ) {
    decoded = TileCache(byteCountMax: decodedBytes)
    encoded = TileCache(byteCountMax: encodedBytes, eviction: LRUEviction())
    self.source = source
  }

  /// A tile to draw; nil where there is none. Blocks the calling thread while it is loaded.
  ///
  /// - Throws: `ImageError` for bytes that are no picture; what the source throws.
  public func picture(_ tile: TileID) throws -> TilePicture? {
    try decoded.value(for: tile, byteCount: Self.decodedCostMax) {
      try decode(tile).map { ($0, byteCount: $0.byteCount) }
    }
  }

  /// How a load of ``decoded`` ends: from the encoded tier, or the source. Blocks the calling thread.
  public func load(_ tile: TileID) -> LoadOutcome<TilePicture> {
    do {
      return try decode(tile).map { .tile($0, byteCount: $0.byteCount) } ?? .absent
    } catch {
      return .failed(error)
    }
  }

  /// Forgets what is known of a tile in both tiers: the source has another.
  public func remove(_ tile: TileID) {
    encoded.remove(tile)
    decoded.remove(tile)
  }

  private func decode(_ tile: TileID) throws -> TilePicture? {
    let bytes = try encoded.value(for: tile, byteCount: Self.encodedCostMax) {
      try source(tile).map { ($0, byteCount: $0.count) }
    }
    return try bytes.map { bytes in try bytes.withUnsafeBytes { TilePicture(try ImageDecoder.decode($0)) } }
  }
}
