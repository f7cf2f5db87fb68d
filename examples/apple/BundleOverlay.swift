import Foundation
import MapKit
import OfflineMap

/// A bundle's tiles over or in place of Apple's map: `mapView.addOverlay(BundleOverlay(bundle))`, drawn by an
/// `MKTileOverlayRenderer`.
final class BundleOverlay: MKTileOverlay {
  private let bundle: MapBundle

  init(_ bundle: MapBundle) {
    self.bundle = bundle
    super.init(urlTemplate: nil)
    minimumZ = bundle.metadata.zooms.lowerBound
    maximumZ = bundle.metadata.zooms.upperBound
    canReplaceMapContent = bundle.metadata.type == .baselayer
  }

  override func loadTile(at path: MKTileOverlayPath) async throws -> Data {
    let tile = try TileID(zoom: path.z, column: path.x, row: path.y)
    guard let bytes = try await bundle.tile(tile) else { throw URLError(.fileDoesNotExist) }
    return Data(bytes)
  }
}
