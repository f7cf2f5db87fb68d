package import RegionCatalog
import Synchronization
package import TileIndex

/// Lines, areas and points of a map, with the rules that draw them.
///
/// 1. For each zoom that is drawn, project and simplify the features that a rule applies to, and evaluate the rule's
///    expressions (``ZoomDrawing``), once.
/// 2. Draw each tile: the parts of these shapes that come near it (``TilePainter``).
package final class VectorMap: Sendable {
  let matrixSet: TileMatrixSet
  private let layers: [(features: [MapFeature], rules: [StyleRule])]
  private let density: Double
  private let drawings = Mutex<[Int: ZoomDrawing]>([:])

  /// - Parameters:
  ///   - layers: features with the rules that draw them, in drawing order.
  ///   - matrixSet: with the size of the tiles that are drawn.
  ///   - density: pixels of a tile for each of the screen, in which styles measure.
  /// - Throws: ``DrawingError`` if the drawing library is missing.
  package init(
    _ layers: [(features: [MapFeature], rules: [StyleRule])], matrixSet: TileMatrixSet, density: Double
  ) throws(DrawingError) {
    try DrawingError.requireLibrary()
    (self.layers, self.matrixSet, self.density) = (layers, matrixSet, density)
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
