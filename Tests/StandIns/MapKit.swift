// Stands in for MapKit where that is missing: the declarations that examples/apple uses, for AppleExampleTests.

public import Foundation

public struct MKTileOverlayPath {
  public var x: Int
  public var y: Int
  public var z: Int
}
open class MKTileOverlay {
  public init(urlTemplate: String?) {}
  public var minimumZ = 0, maximumZ = 21, canReplaceMapContent = false
  open func loadTile(at path: MKTileOverlayPath) async throws -> Data { Data() }
}
