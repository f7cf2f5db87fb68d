public import TileIndex

/// Says which tiles to load ahead of need. ``PrefetchPredictor`` is the one to use; others serve to compare.
public protocol PrefetchPlanner: Sendable {
  /// Takes what the map shows now.
  ///
  /// - Parameters:
  ///   - time: seconds since any moment, never going back.
  mutating func update(_ viewport: Viewport, phase: CameraPhase, at time: Double)

  /// Where the next zoom in will be centred, when the app knows; planners may find out by themselves, or not care.
  var point: MapPoint? { get set }

  /// The tiles that will probably be wanted, the most urgent first. Tiles on the screen may be among them.
  ///
  /// - Parameter countMax: how many tiles there is room for, beside those on the screen.
  func plan(countMax: Int) -> [TileID]

  /// The tiles on the screen that are missing, in the order in which to load them.
  func order(missing: [TileID], in visible: TileRange) -> [TileID]
}

extension PrefetchPlanner {
  public var point: MapPoint? {
    get { nil }
    set {}
  }

  /// Those in the middle of the screen first.
  public func order(missing: [TileID], in visible: TileRange) -> [TileID] {
    MissingOrder.middleFirst(missing, in: visible)
  }
}
