/// A place on the map, in units of the world: 0 to 1 from the west and from the north.
public struct MapPoint: Hashable, Sendable {
  public var x: Double
  public var y: Double

  public init(x: Double, y: Double) {
    self.x = x
    self.y = y
  }
}
