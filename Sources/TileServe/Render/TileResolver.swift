package import TileIndex
package import TilePrefetch

/// Answers queries: hands out stored tiles untouched where it can, draws where it must, and keeps what it drew.
///
/// Blocks the calling thread for reading and drawing; called by several threads at once.
package final class TileResolver: Sendable {
  package let cache: DrawnTileCache
  private let drawers = DrawerPool()
  private let blanks = BlankTiles()

  package init(cache: DrawnTileCache) {
    self.cache = cache
  }

  /// Answers a query.
  ///
  /// 1. Check that the layers fit together and can give what is asked.
  /// 2. Look among the tiles drawn before.
  /// 3. Gather the stored tiles that the answer is made of; those of a slow source once for all who want them at the same time.
  /// 4. None: answer by the policy. One that fits: hand it out as it is. Otherwise draw, keep, hand out; what only stands in for another is not kept.
  ///
  /// - Throws: ``ServeError``: `badRequest` for what the layers cannot give, `damagedTile`; what sources throw.
  /// - Precondition: at least one layer, and as many policies.
  package func answer(_ query: TileQuery) throws -> TileAnswer {
    let stack = try LayerStack(query)
    try stack.check(query)
    if stack.isVector { return try answerVector(query, stack.layers[0]) }
    let key = key(query, stack.layers.map(\.revision))
    if let tile = cache.value(for: key) { return .tile(tile) }
    if stack.layers.contains(where: { $0.source.isSlow }) { return try answerSlowly(query, stack, key) }
    let pieces = try stack.pieces(query.tile, scale: query.scale)
    guard !pieces.isEmpty else { return try answerMissing(query, stack) }
    if pieces.contains(where: \.isStandIn) { return .standIn(try draw(pieces, query, stack)) }
    if let tile = Self.stored(pieces, query, stack) { return .tile(tile) }
    let kept = try cache.value(for: key, byteCount: DrawnTileKey.reservedBytes) {
      let tile = try draw(pieces, query, stack)
      return (tile, cost(tile, key))
    }
    // Nil where it was known, a moment ago, that there is no such tile.
    return .tile(try kept ?? draw(pieces, query, stack))
  }

  /// What was made of kept tiles in place of better ones: an error to the cache, which must not keep it, and an answer to all who waited.
  private struct StandIn: Error {
    var tile: Tile
  }

  /// The answer where reading takes long: who wants the same tile waits for the one that reads.
  private func answerSlowly(_ query: TileQuery, _ stack: LayerStack, _ key: DrawnTileKey) throws -> TileAnswer {
    do {
      let tile = try cache.value(for: key, byteCount: DrawnTileKey.reservedBytes) {
        let pieces = try stack.pieces(query.tile, scale: query.scale)
        guard !pieces.isEmpty else { return nil }
        if pieces.contains(where: \.isStandIn) { throw StandIn(tile: try draw(pieces, query, stack)) }
        let tile = try Self.stored(pieces, query, stack) ?? draw(pieces, query, stack)
        return (tile, cost(tile, key))
      }
      return try tile.map { .tile($0) } ?? answerMissing(query, stack)
    } catch let standIn as StandIn {
      return .standIn(standIn.tile)
    }
  }

  /// A tile that was drawn or fetched before. Reads and draws nothing, never waits: for event loops.
  ///
  /// - Returns: nil also for queries that cannot be answered.
  package func kept(_ query: TileQuery) -> Tile? {
    cache.value(for: key(query, query.layers.map(\.revision)))
  }

  /// True for what ``kept(_:)`` would find; does not count as a use.
  func keeps(_ query: TileQuery) -> Bool { cache.contains(key(query, query.layers.map(\.revision))) }

  /// Draws or reads a tile that nobody has asked for yet, and keeps it while there is room for such.
  ///
  /// - Returns: the bytes of the tile; nil when it is there already, or there is no room, or no such tile.
  package func prefetch(_ query: TileQuery) throws -> Int? {
    let stack = try LayerStack(query)
    try stack.check(query)
    guard !stack.isVector else { return nil }
    let key = key(query, stack.layers.map(\.revision))
    guard case .load(let load) = cache.begin(key, byteCount: DrawnTileKey.reservedBytes, purpose: .prefetch) else {
      return nil
    }
    do {
      let pieces = try stack.pieces(query.tile, scale: query.scale)
      guard !pieces.isEmpty else {
        cache.finish(load, .absent)
        return nil
      }
      guard !pieces.contains(where: \.isStandIn) else {
        cache.finish(load, .failed(CancellationError()))
        return nil
      }
      let tile = try Self.stored(pieces, query, stack) ?? draw(pieces, query, stack)
      cache.finish(load, .tile(tile, byteCount: cost(tile, key)))
      return tile.bytes.count
    } catch {
      cache.finish(load, .failed(error))
      throw error
    }
  }

  /// What the tiles on a client's screen are kept under.
  func key(_ query: TileQuery, _ revisions: [SourceRevision]) -> DrawnTileKey {
    DrawnTileKey(
      revisions: revisions, policies: query.policies, tile: query.tile, scale: query.scale, format: query.format)
  }

  /// Lets go of the buffers that drawing keeps from one tile to the next.
  package func releaseBuffers() { drawers.clear() }

  private func cost(_ tile: Tile, _ key: DrawnTileKey) -> Int { tile.bytes.count + key.byteCount }

  private func draw(_ pieces: [LayerPiece], _ query: TileQuery, _ stack: LayerStack) throws -> Tile {
    try drawers.withDrawer { try $0.draw(pieces, format: query.format ?? stack.format) }
  }

  /// The stored tile where nothing need be drawn.
  private static func stored(_ pieces: [LayerPiece], _ query: TileQuery, _ stack: LayerStack) -> Tile? {
    guard pieces.count == 1, let image = pieces[0].whole, fits(image, query, stack) else { return nil }
    return Tile(bytes: image.bytes, format: image.format)
  }

  /// A stored tile is what was asked for when its format is; also when the tileset's is: what is mixed in one tileset stays mixed.
  private static func fits(_ image: StoredImage, _ query: TileQuery, _ stack: LayerStack) -> Bool {
    guard let format = query.format else { return true }
    return image.format == format || stack.format == format && stack.layers.count == 1
  }

  /// Vector tiles are handed out as stored. Clients enlarge them themselves, and want 204 where there is none (so for blank, which has no vector form).
  private func answerVector(_ query: TileQuery, _ layer: Layer) throws -> TileAnswer {
    guard let bytes = try layer.source.storedTile(query.tile) else {
      return .missing(layer.policy == .notFound ? .notFound : .noContent)
    }
    return .tile(Tile(bytes: bytes, format: bytes.withUnsafeBytes { TileFormat(sniffing: $0) } ?? .pbf))
  }

  private func answerMissing(_ query: TileQuery, _ stack: LayerStack) throws -> TileAnswer {
    switch MissingTilePolicy.composite(query.policies) {
    case .notFound, .overzoom: return .missing(.notFound)
    case .noContent: return .missing(.noContent)
    case .blank:
      let zoom = query.tile.zoom
      let size = stack.layers.reduce(ImageSize(width: 1, height: 1)) { size, layer in
        let own = layer.tileSize(zoom: zoom)
        return size.union(query.scale == 2 && !layer.isDouble(zoom: zoom) ? own.times(2) : own)
      }
      return .tile(try blanks.tile(size, format: query.format ?? stack.format, drawers: drawers))
    }
  }
}

extension MissingTilePolicy {
  /// What happens where no layer of a composite has anything, not even an ancestor: the strictest of the layers' policies, so that a client is told
  /// "nothing" unless every layer agreed to hide it. 404 (and overzoom, which ends in it) before 204 before blank.
  package static func composite(_ policies: [MissingTilePolicy]) -> MissingTilePolicy {
    if policies.contains(where: { $0 == .notFound || $0 == .overzoom }) { return .notFound }
    return policies.contains(.noContent) ? .noContent : .blank
  }
}

/// Which tile of which layers, and how it is wanted.
package struct TileQuery: Sendable {
  /// One for a tileset's own tiles; several are drawn over each other, the lowest first.
  package var layers: [any TileSource]
  /// What happens where a layer has no tile; one for each layer.
  package var policies: [MissingTilePolicy]
  /// A tile of the layers' grid.
  package var tile: TileID
  /// 1, or 2 for `@2x`: twice the pixels along each edge.
  package var scale: Int
  /// Nil: as stored.
  package var format: TileFormat?

  package init(
    layers: [any TileSource], policies: [MissingTilePolicy], tile: TileID, scale: Int = 1, format: TileFormat? = nil
  ) {
    self.layers = layers
    self.policies = policies
    self.tile = tile
    self.scale = scale
    self.format = format
  }
}

/// What became of a query.
package enum TileAnswer: Hashable, Sendable {
  case tile(Tile)
  /// Drawn from what is kept of another server's tiles, because that one does not answer: not to be kept by anybody.
  case standIn(Tile)
  /// Nothing: `notFound` or `noContent`, the others are answered as tiles.
  case missing(MissingTilePolicy)
}

/// The tiles that took drawing (composites, enlarged, joined and re-encoded tiles) or waiting (a slow disk's).
///
/// Tiles that are handed out as stored do not come here: the system keeps their pages. What several threads want at the same time is drawn once.
package typealias DrawnTileCache = TileCache<DrawnTileKey, Tile>

/// All that a drawn tile depends on.
package struct DrawnTileKey: TileCacheKey {
  /// One for each layer, the lowest first.
  var revisions: [SourceRevision]
  /// One for each layer: they decide what stands where a layer has no tile.
  var policies: [MissingTilePolicy]
  package var tile: TileID
  var scale: Int
  /// Nil: as the tileset stores its tiles.
  var format: TileFormat?

  /// What keeping a tile under this key takes beside the tile's own bytes: the entry and its places in the tables, and the headers of three arrays.
  var byteCount: Int { 400 + revisions.count * MemoryLayout<SourceRevision>.stride + policies.count }
}

extension DrawnTileKey {
  /// What is reserved for a tile before it is drawn, with its key. Larger ones are kept where there is room.
  static let reservedBytes = 32 << 10
}
