package import RegionCatalog
import Synchronization
package import TileIndex

/// Lines, areas and points of a map, with the rules that draw them.
///
/// 1. Read the features of all layers (`FeatureFile`).
/// 2. For each zoom that is drawn, project and simplify the features that a rule applies to, and evaluate the rule's
///    expressions (``ZoomDrawing``), once.
/// 3. Draw each tile: the parts of these shapes that come near it (``TilePainter``).
package final class VectorMap: Sendable {
  let matrixSet: TileMatrixSet
  private let layers: [(features: [MapFeature], rules: [StyleRule])]
  /// Pixels of a tile for each of the screen.
  private let density: Double
  private let drawings = Mutex<[Int: ZoomDrawing]>([:])

  /// Reads the layers' files.
  ///
  /// - Parameter matrixSet: with the size of the tiles that are drawn.
  /// - Throws: `TrackError` for a file that cannot be read; ``DrawingError`` if the drawing library is missing.
  package init(_ layers: [VectorLayer], matrixSet: TileMatrixSet, density: Double) throws {
    try DrawingError.requireLibrary()
    self.matrixSet = matrixSet
    self.density = density
    self.layers = try layers.map { layer in
      (features: try FeatureFile.features(path: layer.file), rules: layer.rules)
    }
  }

  func drawing(zoom: Int) -> ZoomDrawing {
    drawings.withLock { drawings in
      if let known = drawings[zoom] { return known }
      let made = ZoomDrawing(layers, matrixSet: matrixSet, zoom: zoom, density: density)
      drawings[zoom] = made
      return made
    }
  }
}
