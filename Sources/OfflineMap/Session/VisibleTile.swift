import Observation
import Synchronization
public import TileIndex
public import TilePrefetch

/// A tile on the screen.
public struct VisibleTile<Picture: Sendable>: Sendable, Identifiable {
  /// A tile at one of the places where the screen shows it.
  public struct ID: Hashable, Sendable {
    /// The tile of the bundle.
    public let tile: TileID
    /// The copy of the world that it is drawn in: those east of the antimeridian have the next number. A tile at both
    /// edges of a screen that crosses the antimeridian is there twice, in two worlds.
    public let world: Int
  }

  public let id: ID
  /// What the session's closure made of the tile's bytes.
  public let picture: Picture
  /// Where the map view draws the whole picture, in points; it may extend beyond the view.
  public let frame: ScreenFrame

  /// The tile of the bundle, whichever place of it this is.
  public var tileID: TileID { id.tile }

  /// - Parameter tile: its column may lie beyond the world.
  init(_ tile: TileID, _ picture: Picture, in viewport: Viewport) {
    id = ID(tile: tile.onEarth, world: tile.column >> tile.zoom)
    self.picture = picture
    frame = viewport.frame(of: tile)
  }
}

extension MapSession {
  /// What to draw now, in this order: coarser tiles where the screen's own are still missing, then those.
  ///
  /// - Complexity: O(tiles of the screen), with up to six lookups for one that is missing; read it once a frame.
  public var visibleTiles: [VisibleTile<Picture>] {
    observers.access(self, keyPath: \.visibleTiles)
    guard let (viewport, visible) = state.withLock({ state in state.viewport.map { ($0, state.visible) } }),
      let visible
    else { return [] }
    let range = TileMatrixSet.webMercatorQuad.wholeRange(zoom: visible.zoom)
    var own: [VisibleTile<Picture>] = []
    var coarser: [TileID: Picture] = [:]
    for tile in visible where range.rows.contains(tile.row) {
      if let picture = loader.tile(tile) {
        own.append(VisibleTile(tile, picture, in: viewport))
      } else if !tiles.decoded.isAbsent(tile), let (ancestor, picture) = ancestor(of: tile) {
        coarser[ancestor] = picture
      }
    }
    let below = coarser.sorted { $0.key < $1.key }.map { VisibleTile($0.key, $0.value, in: viewport) }
    return below + own
  }

  /// The nearest kept ancestor of a tile.
  private func ancestor(of tile: TileID) -> (TileID, Picture)? {
    var next = tile.parent
    while let ancestor = next, tile.zoom - ancestor.zoom <= Self.enlargedZoomsMax {
      // It may have been loaded on the other side of the antimeridian.
      if let picture = tiles.decoded.value(for: ancestor) ?? tiles.decoded.value(for: ancestor.onEarth) {
        return (ancestor, picture)
      }
      next = ancestor.parent
    }
    return nil
  }

  /// An ancestor further up would be enlarged to a few blurred pixels.
  private static var enlargedZoomsMax: Int { 5 }

  /// The tiles of the screen whose last load failed: damaged ones, and all of a file that has changed since it was
  /// opened. Empty when all is well; ``readyTiles()`` tells when one is added.
  public var failedTiles: [TileFailure] {
    observers.access(self, keyPath: \.failedTiles)
    return state.withLock { state in
      state.failures.filter { state.visible?.contains($0.key) ?? false }.sorted { $0.key < $1.key }.map(\.value)
    }
  }

  /// Tells observers to read both again. Not under the lock of the state, which they take.
  func announceChange() {
    observers.withMutation(of: self, keyPath: \.visibleTiles) {}
    observers.withMutation(of: self, keyPath: \.failedTiles) {}
  }

  /// What becomes of the tiles of the screen, from now on: each that is ready, and each that cannot be loaded, once
  /// until it is ready or leaves the screen. Tiles that were ready before are in ``visibleTiles``, those that failed
  /// before in ``failedTiles``; a tile that has left the screen before it was taken is left out.
  ///
  /// Each call gives a sequence of its own. It ends with the task that iterates over it, and with the session, which it
  /// does not keep.
  public func readyTiles() -> some AsyncSequence<Result<VisibleTile<Picture>, TileFailure>, Never> & Sendable {
    let (stream, continuation) = AsyncStream<Arrival>.makeStream(bufferingPolicy: .bufferingNewest(1024))
    let number = state.withLock { state in
      state.nextListener += 1
      state.listeners[state.nextListener] = continuation
      return state.nextListener
    }
    continuation.onTermination = { [weak self] _ in
      self?.state.withLock { _ = $0.listeners.removeValue(forKey: number) }
    }
    return stream.compactMap { [weak self] arrival in self?.visible(arrival) }
  }

  private func visible(_ arrival: Arrival) -> Result<VisibleTile<Picture>, TileFailure>? {
    let viewport = state.withLock { $0.visible?.contains(arrival.tile) == true ? $0.viewport : nil }
    guard let viewport else { return nil }
    if let failure = arrival.failure { return .failure(failure) }
    return loader.tile(arrival.tile).map { .success(VisibleTile(arrival.tile, $0, in: viewport)) }
  }
}
