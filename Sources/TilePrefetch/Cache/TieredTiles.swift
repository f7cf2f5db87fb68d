package import TileIndex

/// Tiles in two caches behind each other: decoded tiles, ready to draw, and behind them the encoded tiles as the source
/// has them. Each cache has its own budget.
///
/// 1. A decoded tile is returned.
/// 2. Otherwise the encoded tile is decoded.
/// 3. Otherwise the source is asked; the result is kept in both caches.
///
/// A tile of 256 pixels takes 20 to 40 KiB encoded, 65 KiB in a palette and 256 KiB as pixels, so a sixth of the memory
/// for the encoded tier holds about as many tiles as the rest. The second tier pays where the source is slower than
/// decoding: a network or a renderer. A bundle on a fast disk is as fast as the second tier.
///
/// `Picture` is whatever the app draws; this module knows no image formats. With TileImage it is `TilePicture`. `read`
/// returns a tile's bytes, on any thread:
///
/// ```swift
/// let tiles = TieredTiles(decodedBytes: 48 << 20, encodedBytes: 8 << 20) { bytes in
///   let picture = TilePicture(try bytes.withUnsafeBytes { try ImageDecoder.decode($0) })
///   return (picture, byteCount: picture.byteCount)
/// } source: { tile in
///   try read(tile)
/// }
/// ```
///
/// With a ``MapLoader``, pass ``decoded`` as its cache, and in each loading thread call `loader.finish(load,
/// tiles.load(load.key))`.
package final class TieredTiles<Picture: Sendable>: Sendable {
  /// The tiles as they are drawn.
  package let decoded: TileCache<TileID, Picture>
  /// The tiles as they are stored.
  package let encoded: TileCache<TileID, [UInt8]>
  private let decode: @Sendable ([UInt8]) throws -> (Picture, byteCount: Int)
  private let source: @Sendable (TileID) throws -> [UInt8]?

  /// What is reserved for a tile of 256 pixels before its cost is known.
  package static var decodedCostMax: Int { 256 << 10 }
  /// What is reserved for a stored tile before its size is known.
  package static var encodedCostMax: Int { 64 << 10 }

  /// Two empty tiers in front of a source.
  ///
  /// - Parameters:
  ///   - decodedBytes: the budget of the decoded tier.
  ///   - encodedBytes: the budget of the encoded tier, which evicts the least recently used tile; 0 for none.
  ///   - decode: returns a tile decoded from its bytes and the cost of keeping it in bytes. Called by several threads
  ///     at once.
  ///   - absentLifetime: how long a tile that the source lacks is not asked for again.
  ///   - now: a monotonic clock for both tiers; the system's unless given.
  ///   - source: returns a tile's bytes; nil where there is none. It may block. Several threads call it at once, but
  ///     once for a tile that several of them want.
  package init(
    decodedBytes: Int, encodedBytes: Int, absentLifetime: Duration = .seconds(60),
    now: (@Sendable () -> Duration)? = nil,
    decode: @escaping @Sendable ([UInt8]) throws -> (Picture, byteCount: Int),
    source: @escaping @Sendable (TileID) throws -> [UInt8]?
  ) {
    decoded = TileCache(byteCountMax: decodedBytes, absentLifetime: absentLifetime, now: now)
    encoded = TileCache(
      byteCountMax: encodedBytes, eviction: LRUEviction(), absentLifetime: absentLifetime, now: now)
    self.decode = decode
    self.source = source
  }

  /// A tile to draw; nil where there is none. Blocks the calling thread while it loads.
  ///
  /// - Throws: what `decode` and `source` throw.
  package func picture(_ tile: TileID) throws -> Picture? {
    try decoded.value(for: tile, byteCount: Self.decodedCostMax) { try loaded(tile) }
  }

  /// The outcome of a load of ``decoded``: from the encoded tier or the source. Blocks the calling thread.
  package func load(_ tile: TileID) -> LoadOutcome<Picture> {
    do {
      return try loaded(tile).map { .tile($0.0, byteCount: $0.byteCount) } ?? .absent
    } catch {
      return .failed(error)
    }
  }

  /// Removes a tile from both tiers, because the source has a new version.
  package func remove(_ tile: TileID) {
    encoded.remove(tile)
    decoded.remove(tile)
  }

  private func loaded(_ tile: TileID) throws -> (Picture, byteCount: Int)? {
    let bytes = try encoded.value(for: tile, byteCount: Self.encodedCostMax) {
      try source(tile).map { ($0, byteCount: $0.count) }
    }
    return try bytes.map(decode)
  }
}
