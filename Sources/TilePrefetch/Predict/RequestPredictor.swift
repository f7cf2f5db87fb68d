public import TileIndex

/// Guesses what clients of a tile server will ask for next, from what they asked for: nobody tells a server where the map is.
///
/// A client is a viewport of its own as long as it asks. A browser keeps what it has, so only tiles that come onto its screen are asked for: the viewport is the rectangle of the last tiles of one zoom, not
/// larger than the most that the client ever wanted at once, and it moves with tiles beyond its edge.
public struct RequestPredictor<Client: Hashable & Sendable>: Sendable {
  public struct Options: Hashable, Sendable {
    /// Clients that are remembered; the one that was silent longest goes.
    public var clientsMax = 256
    /// Seconds of silence after which a client is forgotten.
    public var lifetime = 300.0
    /// Seconds within which requests belong to one screen.
    public var burst = 1.0
    /// A screen's tiles on either axis; what is wider is not a screen but a download.
    public var sideMax = 24

    public init() {}
  }

  private struct Session {
    var predictor: PrefetchPredictor
    var view: TileRange
    /// The widest and highest burst so far: the size of the screen.
    var columns = 1
    var rows = 1
    /// The rectangle of the requests without a pause between them.
    var burst: TileRange
    /// True while tiles beyond the edges of a screen that was there are asked for.
    var isMoving = false
    var lastTime: Double
  }

  public let options: Options
  private let predictorOptions: PrefetchPredictor.Options
  private var sessions: [Client: Session] = [:]

  public init(options: Options = Options(), predictor: PrefetchPredictor.Options = .init()) {
    self.options = options
    predictorOptions = predictor
  }

  /// How many clients are remembered.
  public var clientCount: Int { sessions.count }

  /// The tiles that a client's screen probably shows; nil for a client that is not known.
  public func view(of client: Client) -> TileRange? { sessions[client]?.view }

  /// Takes a request.
  ///
  /// - Parameter time: seconds since any moment, never going back.
  /// - Complexity: O(1); O(clients) when one is forgotten.
  public mutating func note(_ tile: TileID, from client: Client, at time: Double) {
    let single = TileRange(zoom: tile.zoom, columns: tile.column...tile.column, rows: tile.row...tile.row)
    guard var session = sessions[client], time - session.lastTime <= options.lifetime else {
      forget(at: time, room: 1)
      let predictor = PrefetchPredictor(options: predictorOptions)
      sessions[client] = Session(predictor: predictor, view: single, burst: single, lastTime: time)
      return
    }
    if session.view.zoom != tile.zoom {
      (session.view, session.burst, session.isMoving) = (single, single, false)
    } else {
      let hasPaused = time - session.lastTime > options.burst
      if hasPaused { session.isMoving = true }
      extend(&session, with: single, hasPaused: hasPaused)
    }
    session.lastTime = time
    session.predictor.update(Self.viewport(session.view), phase: session.isMoving ? .drag : .rest, at: time)
    sessions[client] = session
  }

  /// What a client will probably ask for next, without what its screen shows.
  public mutating func plan(for client: Client, countMax: Int, at time: Double) -> [TileID] {
    guard var session = sessions[client], time - session.lastTime <= options.lifetime else { return [] }
    // A map of which nothing new was asked for lies still.
    let phase: CameraPhase = time - session.lastTime > 0.3 ? .rest : .drag
    session.predictor.update(Self.viewport(session.view), phase: phase, at: time)
    sessions[client] = session
    return Array(
      session.predictor.plan(countMax: countMax).lazy.filter { !session.view.contains($0) }.prefix(countMax))
  }

  public mutating func forget(_ client: Client) { sessions[client] = nil }

  /// Grows the view as far as one burst reaches, and moves it beyond that.
  private func extend(_ session: inout Session, with tile: TileRange, hasPaused: Bool) {
    let union = session.view.union(tile)
    guard union.columns.count <= 2 * options.sideMax, union.rows.count <= 2 * options.sideMax else {
      (session.view, session.burst, session.isMoving) = (tile, tile, false)
      return
    }
    session.burst = hasPaused ? tile : session.burst.union(tile)
    session.columns = min(options.sideMax, max(session.columns, session.burst.columns.count))
    session.rows = min(options.sideMax, max(session.rows, session.burst.rows.count))
    session.view = TileRange(
      zoom: tile.zoom,
      columns: Self.shifted(union.columns, to: tile.columns.lowerBound, length: session.columns),
      rows: Self.shifted(union.rows, to: tile.rows.lowerBound, length: session.rows))
  }

  /// A span cut to a length, on the side away from a place.
  private static func shifted(_ span: ClosedRange<Int>, to place: Int, length: Int) -> ClosedRange<Int> {
    guard span.count > length else { return span }
    return place - span.lowerBound > span.upperBound - place
      ? (span.upperBound - length + 1)...span.upperBound : span.lowerBound...(span.lowerBound + length - 1)
  }

  /// The viewport that shows just these tiles.
  private static func viewport(_ range: TileRange) -> Viewport {
    let count = Double(1 << min(range.zoom, TileID.zoomMax))
    return Viewport(
      x: Double(range.columns.lowerBound + range.columns.upperBound + 1) / 2 / count,
      y: Double(range.rows.lowerBound + range.rows.upperBound + 1) / 2 / count, zoom: Double(range.zoom),
      width: Double(range.columns.count) * Viewport.tilePixels, height: Double(range.rows.count) * Viewport.tilePixels)
  }

  /// Lets go of silent clients, and of the most silent one where there is no room.
  private mutating func forget(at time: Double, room: Int) {
    guard sessions.count + room > options.clientsMax else { return }
    sessions = sessions.filter { time - $0.value.lastTime <= options.lifetime }
    while sessions.count + room > options.clientsMax,
      let oldest = sessions.min(by: { $0.value.lastTime < $1.value.lastTime })
    {
      sessions[oldest.key] = nil
    }
  }
}
