/// An axis-aligned box. Units are those of the coordinates it was made from: degrees (WGS 84, longitude first) or the CRS units of a tile matrix set.
public struct BoundingBox: Hashable, Sendable {
  public var west: Double
  public var south: Double
  public var east: Double
  public var north: Double

  public init(west: Double, south: Double, east: Double, north: Double) {
    self.west = west
    self.south = south
    self.east = east
    self.north = north
  }

  public var width: Double { east - west }
  public var height: Double { north - south }
}
