import Support
package import TileIndex
package import TilePrefetch

/// Answers queries for tiles: returns stored tiles unchanged where possible, renders the others, and caches rendered
/// tiles.
///
/// Blocks the calling thread for reading and drawing; called by several threads at once.
package final class TileResolver: Sendable {
  package let cache: DrawnTileCache
  private let renderers = TileRendererPool()
  private let blanks = BlankTiles()
  private let budget: DrawingBudget

  /// - Parameter budget: for all that is drawn at a time.
  package init(
    cache: DrawnTileCache, budget: DrawingBudget = DrawingBudget(byteCountMax: TileServerOptions().drawingBytes)
  ) {
    (self.cache, self.budget) = (cache, budget)
  }

  /// Answers a query.
  ///
  /// 1. Check that the layers fit together and support the query.
  /// 2. Look in the cache of rendered tiles.
  /// 3. Gather the stored tiles that the answer consists of; concurrent queries share the reads of a slow source.
  /// 4. Begin again if a layer changed meanwhile, so that a tile is drawn of one edition.
  /// 5. None: answer by the policy. One that fits: return it as stored. Otherwise render, cache and return; a
  ///    substitute for an unreachable tile is not cached.
  ///
  /// - Throws: ``ServeError``: `badRequest` for what the layers do not support, `damagedTile`, `tooLarge`; what sources
  ///   throw.
  /// - Precondition: at least one layer, and as many policies.
  package func answer(_ query: TileQuery) throws -> TileAnswer {
    for _ in 0..<Self.attemptsMax {
      do {
        return try answerOnce(query)
      } catch is SeveralEditions {}
    }
    throw ServeError(.unavailable, "the layers change all the time", remedy: "ask again later")
  }

  private static let attemptsMax = 8

  /// A layer's file changed between two reads for one tile.
  private struct SeveralEditions: Error {}

  /// The layers' pieces of a tile, each layer's from one edition.
  private func pieces(_ query: TileQuery, _ stack: LayerStack) throws -> [LayerPiece] {
    let pieces = try ReadingSlots.holding { try stack.pieces(query.tile, scale: query.scale) }
    guard stack.layers.allSatisfy({ $0.source.edition == $0.edition }) else { throw SeveralEditions() }
    return pieces
  }

  private func answerOnce(_ query: TileQuery) throws -> TileAnswer {
    let stack = try LayerStack(query)
    try stack.check(query)
    if stack.isVector { return try answerVector(query, stack.layers[0]) }
    let key = key(query, stack.layers.map(\.revision))
    if let tile = cache.value(for: key) { return .tile(tile) }
    if stack.layers.contains(where: { $0.source.isSlow }) { return try answerSlowly(query, stack, key) }
    let pieces = try pieces(query, stack)
    guard !pieces.isEmpty else { return try answerMissing(query, stack) }
    if pieces.contains(where: \.isStandIn) { return .standIn(try draw(pieces, query, stack)) }
    if let tile = Self.stored(pieces, query, stack) { return .tile(tile) }
    let kept = try shared(key) {
      let tile = try draw(pieces, query, stack)
      return (tile, cost(tile, key))
    }
    // Nil if the cache has noted recently that there is no such tile.
    return .tile(try kept ?? draw(pieces, query, stack))
  }

  /// A substitute rendered from cached tiles. Thrown through the cache, which must not store it, to all waiting
  /// queries.
  private struct StandIn: Error {
    var tile: Tile
  }

  /// The answer from a slow source: concurrent queries for one tile wait for a single read.
  private func answerSlowly(_ query: TileQuery, _ stack: LayerStack, _ key: DrawnTileKey) throws -> TileAnswer {
    do {
      let tile = try shared(key) {
        let pieces = try pieces(query, stack)
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

  /// A tile that concurrent queries read or draw once. Where that one's client leaves, one of the others goes on.
  private func shared(_ key: DrawnTileKey, load: () throws -> (Tile, byteCount: Int)?) throws -> Tile? {
    while true {
      do {
        return try cache.value(for: key, byteCount: DrawnTileKey.reservedBytes, load: load)
      } catch is CancellationError {
        try Cancellation.check()
      }
    }
  }

  /// A cached tile. Reads and renders nothing and never waits: for event loops.
  ///
  /// - Returns: nil also for invalid queries.
  package func kept(_ query: TileQuery) -> Tile? {
    cache.value(for: key(query, query.layers.map(\.revision)))
  }

  /// True if ``kept(_:)`` would find the tile; does not count as a use.
  func keeps(_ query: TileQuery) -> Bool { cache.contains(key(query, query.layers.map(\.revision))) }

  /// Prefetches a tile into the cache if there is room for prefetched tiles.
  ///
  /// - Returns: the bytes of the tile; nil if it is cached already, there is no room, or no such tile exists.
  package func prefetch(_ query: TileQuery) throws -> Int? {
    let stack = try LayerStack(query)
    try stack.check(query)
    guard !stack.isVector else { return nil }
    let key = key(query, stack.layers.map(\.revision))
    guard case .load(let load) = cache.begin(key, byteCount: DrawnTileKey.reservedBytes, purpose: .prefetch) else {
      return nil
    }
    do {
      let pieces = try pieces(query, stack)
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

  /// The cache key of a query.
  func key(_ query: TileQuery, _ revisions: [SourceRevision]) -> DrawnTileKey {
    DrawnTileKey(
      revisions: revisions, policies: query.policies, tile: query.tile, scale: query.scale, format: query.format)
  }

  /// Releases the buffers that rendering keeps between tiles.
  package func releaseBuffers() { renderers.clear() }

  private func cost(_ tile: Tile, _ key: DrawnTileKey) -> Int { tile.bytes.count + key.byteCount }

  private func draw(_ pieces: [LayerPiece], _ query: TileQuery, _ stack: LayerStack) throws -> Tile {
    try budget.drawing(pieces) {
      try renderers.withRenderer { try $0.draw(pieces, format: query.format ?? stack.format) }
    }
  }

  /// The stored tile if nothing has to be rendered.
  private static func stored(_ pieces: [LayerPiece], _ query: TileQuery, _ stack: LayerStack) -> Tile? {
    guard pieces.count == 1, let image = pieces[0].whole, image.shown == nil, fits(image, query, stack) else {
      return nil
    }
    return Tile(bytes: image.bytes, format: image.format)
  }

  /// A stored tile is returned if its own format or the tileset's is requested: tilesets of mixed formats are served as
  /// they are.
  private static func fits(_ image: StoredImage, _ query: TileQuery, _ stack: LayerStack) -> Bool {
    guard let format = query.format else { return true }
    return image.format == format || stack.format == format && stack.layers.count == 1
  }

  /// Vector tiles are returned as stored. Clients enlarge them themselves, and expect 204 for missing ones (also for
  /// blank, which has no vector form).
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
      return .tile(try blanks.tile(size, format: query.format ?? stack.format, renderers: renderers))
    }
  }
}

extension MissingTilePolicy {
  /// The policy if no layer of a composite has a tile or ancestor: the strictest of the layers' policies, so that a
  /// client is told that the tile is missing unless every layer hides it. 404 (and overzoom, which ends in it) before
  /// 204 before blank.
  package static func composite(_ policies: [MissingTilePolicy]) -> MissingTilePolicy {
    if policies.contains(where: { $0 == .notFound || $0 == .overzoom }) { return .notFound }
    return policies.contains(.noContent) ? .noContent : .blank
  }
}

/// A query: a tile of some layers, with scale and format.
package struct TileQuery: Sendable {
  /// One tileset, or several for a composite, the lowest first.
  package var layers: [any TileSource]
  /// The policy for missing tiles; one for each layer.
  package var policies: [MissingTilePolicy]
  /// A tile of the layers' grid.
  package var tile: TileID
  /// 1, or 2 for `@2x`: twice the pixels along each edge.
  package var scale: Int
  /// Nil for the stored format.
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

/// The answer to a query.
package enum TileAnswer: Hashable, Sendable {
  case tile(Tile)
  /// A substitute rendered from cached tiles because the upstream is unreachable; must not be cached by clients.
  case standIn(Tile)
  /// No tile: `notFound` or `noContent`; the other policies produce tiles.
  case missing(MissingTilePolicy)
}

/// The cache of rendered tiles (composites, overlays, enlarged, joined and re-encoded ones) and of tiles from slow
/// disks.
///
/// Tiles that are served as stored are not cached here: the page cache has them. Concurrent requests for one tile share
/// one rendering.
package typealias DrawnTileCache = TileCache<DrawnTileKey, Tile>

/// Everything that a rendered tile depends on.
package struct DrawnTileKey: TileCacheKey {
  /// One for each layer, the lowest first.
  var revisions: [SourceRevision]
  /// One for each layer: they affect the result where a layer has no tile.
  var policies: [MissingTilePolicy]
  package var tile: TileID
  var scale: Int
  /// Nil for the tileset's own format.
  var format: TileFormat?

  /// The memory of a cache entry in addition to the tile's bytes: the entry, its places in the tables, and the headers
  /// of three arrays.
  var byteCount: Int { 400 + revisions.count * MemoryLayout<SourceRevision>.stride + policies.count }
}

extension DrawnTileKey {
  /// The memory reserved for a tile before it is rendered, with its key. Larger tiles are stored if there is room.
  static let reservedBytes = 32 << 10
}
