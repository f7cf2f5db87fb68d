package import RegionCatalog
import Synchronization
package import TileIndex

/// Lines, areas, points and labels of a map, with the rules that draw them.
///
/// 1. For each zoom that is drawn, once: find places for its labels (``LabelPlacer``); project and simplify the
///    features that a rule applies to, and evaluate the rule's expressions (``ZoomDrawing``).
/// 2. Draw each tile: the parts of these shapes that come near it (``TilePainter``).
package final class VectorMap: Sendable {
  /// Features with the rules that draw them.
  package struct Layer: Sendable {
    package enum Source: Sendable {
      case features([MapFeature])
      /// Made for each zoom.
      case graticule(Graticule)
    }

    let source: Source
    let rules: [StyleRule]
    let icons: IconSet
    /// What it takes at one zoom at most, without labels.
    let byteCountMax: Int

    /// - Parameter images: icons by the names that the rules use.
    package init(_ source: Source, rules: [StyleRule], images: [String: IconFile] = [:]) {
      (self.source, self.rules) = (source, rules)
      icons = IconSet(images)
      switch source {
      case .features(let features):
        let rulesDrawn = rules.count { $0.kind != .symbol }
        byteCountMax = features.reduce(0) { $0 + ($1.byteCount + $1.partCount * Self.partBytes) * rulesDrawn }
      case .graticule: byteCountMax = 0
      }
    }

    /// What a line, an area or a point takes beside its points in a drawing, about.
    private static let partBytes = 512
  }

  let matrixSet: TileMatrixSet
  let layers: [Layer]
  private let density: Double
  let frame: LabelFrame
  private let state: Mutex<State>

  private struct State {
    var drawings: [Int: ZoomDrawing] = [:]
    /// From the grid's first zoom on.
    var placements: [LabelPlacer.Placement] = []
    /// What became of the labels at the zooms that are shown.
    var tally = LabelTally()
    /// Nil where nothing is labelled.
    let shaper: TextShaper?

    mutating func forgetLabels(_ index: Int) {
      if placements.indices.contains(index) { placements[index].labels = [:] }
    }
  }

  /// - Parameters:
  ///   - layers: in drawing order.
  ///   - matrixSet: with the size of the tiles that are drawn.
  ///   - density: pixels of a tile for each of the screen, in which styles measure.
  ///   - frame: where labels may lie; nil for everywhere.
  /// - Throws: ``DrawingError`` if a library is missing.
  package init(
    _ layers: [Layer], matrixSet: TileMatrixSet, density: Double, frame: LabelFrame? = nil
  ) throws(DrawingError) {
    try DrawingError.requireLibrary()
    (self.layers, self.matrixSet, self.density) = (layers, matrixSet, density)
    self.frame = frame ?? LabelFrame(matrixSet)
    let hasLabels = layers.contains { $0.rules.contains { $0.kind == .symbol } }
    state = Mutex(State(shaper: hasLabels ? try TextShaper() : nil))
  }

  /// Finds whether all fonts and icons are there that the first zoom needs.
  ///
  /// - Throws: ``DrawingError`` for unknown fonts and icons.
  package func check() throws(DrawingError) { _ = try drawing(zoom: matrixSet.zooms.lowerBound) }

  /// The fonts that labels are set in up to a zoom, also those that Pango takes for single letters: by family and
  /// style, the start of the SHA-256 of the file.
  ///
  /// - Complexity: finds the places of all labels, which drawing finds no more.
  /// - Throws: ``DrawingError`` for unknown fonts and icons.
  package func fonts(through zoom: Int) throws(DrawingError) -> [String: String] {
    _ = try labels(zoom: zoom)
    return state.withLock { $0.shaper?.fonts ?? [:] }
  }

  /// The letters of the labels so far that no installed font has.
  package var missingLetters: MissingLetters { state.withLock { $0.shaper?.missing ?? MissingLetters() } }

  /// The labels so far that the map lacks, or shows in part, of each layer that has such ones.
  package var labelLosses: [LabelLosses] { state.withLock { $0.tally.losses(of: layers) } }

  /// Makes what is drawn at some zooms, from the coarsest, before the first tile asks for it.
  ///
  /// - Parameter bytesMax: what it may take. From the zoom on at which it takes more, nothing is kept and all is
  ///   counted.
  /// - Returns: the memory that it takes in bytes, or would take.
  /// - Throws: ``DrawingError`` for unknown fonts and icons.
  package func prepare(_ zooms: ClosedRange<Int>, bytesMax: Int) throws(DrawingError) -> Int {
    // Of a zoom at which every feature is shown with all of its points.
    let largest = layers.reduce(0) { $0 + $1.byteCountMax }
    var byteCount = 0
    for zoom in zooms {
      let isKnown = state.withLock { $0.drawings[zoom] != nil }
      if !isKnown, byteCount + largest > bytesMax {
        let layers = layers(zoom: zoom, isKeeping: false)
        let count = try ZoomDrawing.byteCount(
          layers, labels: try labels(zoom: zoom), matrixSet: matrixSet, zoom: zoom, density: density,
          where: shownItems(zoom: zoom))
        guard byteCount + count <= bytesMax else {
          byteCount += count
          state.withLock { $0.forgetLabels(zoom - matrixSet.zooms.lowerBound) }
          continue
        }
      }
      byteCount += try drawing(zoom: zoom).byteCount
    }
    return byteCount
  }

  /// The memory that a layer's drawings at some zooms take, in bytes, if all of it is shown. Nothing of them is kept.
  ///
  /// - Throws: ``DrawingError`` for unknown fonts and icons.
  package static func byteCount(
    of layer: Layer, _ zooms: ClosedRange<Int>, matrixSet: TileMatrixSet, density: Double
  ) throws(DrawingError) -> Int {
    try VectorMap([layer], matrixSet: matrixSet, density: density).prepare(zooms, bytesMax: -1)
  }

  /// Whether an item may come near a tile that shows something of the frame.
  private func shownItems(zoom: Int) -> (ZoomDrawing.Item) -> Bool {
    let (matrix, box) = (matrixSet[zoom], frame.box(zoom))
    let size = SIMD2(Double(matrix.tileWidth), Double(matrix.tileHeight))
    let tiles = PixelBox(
      low: ((box.low / size).rounded(.down) - 1) * size, high: ((box.high / size).rounded(.up) + 1) * size)
    // What reaches beyond the antimeridian is seen on the other side, too.
    let width = matrixSet.isGlobal ? matrixSet.turn(zoom: zoom) : .infinity
    let isAround = matrixSet.isGlobal && (tiles.low.x < 0 || tiles.high.x > width)
    return { item in
      isAround || item.low.x < item.reach || item.high.x > width - item.reach
        || tiles.expanded(by: item.reach).meets(item.low, item.high)
    }
  }

  /// - Throws: ``DrawingError`` for unknown fonts and icons.
  func drawing(zoom: Int) throws(DrawingError) -> ZoomDrawing {
    // A thrown error would lose its type in the closure.
    let result: Result<ZoomDrawing, DrawingError> = state.withLock { state in
      if let known = state.drawings[zoom] { return .success(known) }
      let layers = layers(zoom: zoom)
      do throws(DrawingError) {
        let made = try ZoomDrawing(
          layers, labels: try labels(layers, zoom: zoom, &state), matrixSet: matrixSet, zoom: zoom, density: density,
          where: shownItems(zoom: zoom))
        state.drawings[zoom] = made
        // Its labels are in the drawing now; where they lie is needed for the next zoom.
        state.forgetLabels(zoom - matrixSet.zooms.lowerBound)
        return .success(made)
      } catch {
        return .failure(error)
      }
    }
    return try result.get()
  }

  private func labels(zoom: Int) throws(DrawingError) -> [Int: [Label]] {
    let result: Result<[Int: [Label]], DrawingError> = state.withLock { state in
      do throws(DrawingError) {
        return .success(try labels(layers(zoom: zoom), zoom: zoom, &state))
      } catch {
        return .failure(error)
      }
    }
    return try result.get()
  }

  /// Labels stay from zoom to zoom, so those of all coarser ones come first.
  private func labels(
    _ layers: [ZoomLayer], zoom: Int, _ state: inout State
  ) throws(DrawingError) -> [Int: [Label]] {
    guard let shaper = state.shaper else { return [:] }
    let first = matrixSet.zooms.lowerBound
    while first + state.placements.count <= zoom {
      let next = first + state.placements.count
      var placement = try LabelPlacer.place(
        next == zoom ? layers : self.layers(zoom: next), zoom: next, matrix: matrixSet[next], density: density,
        frame: frame, turn: matrixSet.turn(zoom: next), shaper: shaper, earlier: state.placements.last)
      if frame.zooms.contains(next) { state.tally.add(placement) }
      (placement.outcomes, placement.cut) = ([], [])
      state.placements.append(placement)
    }
    return state.placements[zoom - first].labels
  }

  private func layers(zoom: Int, isKeeping: Bool = true) -> [ZoomLayer] {
    layers.map { layer in
      let features =
        switch layer.source {
        case .features(let features): features
        case .graticule(let graticule): graticule.features(matrixSet, zoom: zoom, density: density, frame)
        }
      return ZoomLayer(
        features, rules: layer.rules, icons: layer.icons, matrixSet: matrixSet, zoom: zoom, isKeeping: isKeeping)
    }
  }
}
