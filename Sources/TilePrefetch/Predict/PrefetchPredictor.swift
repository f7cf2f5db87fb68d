public import TileIndex

public struct PrefetchPredictor: PrefetchPlanner {
  public init() {}
  public mutating func update(_ viewport: Viewport, phase: CameraPhase, at time: Double) {}
  public mutating func plan(countMax: Int) -> [TileID] { [] }
}
