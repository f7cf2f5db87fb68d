import MapDrawing
import RegionCatalog
import Support
import TileIndex

/// The features of all layers that are drawn over the sources, in memory.
///
/// Of a file only what its style uses is read. What is too much is counted, with what it takes when it is drawn, and is
/// not kept, so that the error says how much memory the cut needs.
struct LayerData {
  /// In drawing order.
  let sources: [VectorMap.Layer.Source]
  /// Of layers without features.
  let warnings: [String]
  /// What the features take.
  let byteCount: Int

  /// - Throws: ``CutError`` for files that cannot be read, and for more than ``CutResources/layerBytesMax``.
  init(_ options: CutOptions, _ resources: CutResources) throws {
    var sources: [VectorMap.Layer.Source] = []
    var warnings: [String] = []
    var budget = Budget(bytesMax: resources.layerBytesMax)
    var need = DrawingNeed(options)
    for layer in options.drawing {
      var features: [MapFeature] = []
      var isEmpty = true
      var undrawn = UndrawnFeatures(layer.rules)
      func take(_ feature: MapFeature) {
        isEmpty = false
        undrawn.count(feature)
        if budget.isFull(with: feature) {
          // Now all is measured, in pieces.
          for (index, source) in sources.enumerated() { need.add(source, of: options.drawing[index]) }
          sources = sources.map { _ in .features([]) }
          need.add(.features(features), of: layer)
          features = []
        }
        features.append(feature)
        budget.take(feature)
      }
      switch layer.data {
      case .file(let path):
        let names = layer.rules.reduce(into: Set<String>()) { $0.formUnion($1.propertyNames) }
        undrawn.withoutGeometry = try Self.read(path, properties: names, take)
        budget.end(of: path)
        if isEmpty { warnings.append("\(path): has no features") }
        warnings += undrawn.lines.map { "\(path): \($0)" }
      case .contours(let contours):
        try Self.trace(contours, resources, take)
        let path = contours.models.first ?? ""
        budget.end(of: path)
        if isEmpty {
          let interval = DecimalText.text(contours.interval)
          warnings.append("\(path): has no contours: no height is a multiple of \(interval)")
        }
      case .graticule(let interval):
        sources.append(.graticule(Graticule(interval: interval)))
        continue
      }
      sources.append(.features(features))
    }
    if budget.bytes > budget.bytesMax {
      for (index, source) in sources.enumerated() { need.add(source, of: options.drawing[index]) }
      if let error = need.error { throw error }
      throw CutError.layersTooLarge(
        features: budget.bytes, drawn: need.bytes, zooms: need.zooms, path: budget.largest?.path, resources: resources)
    }
    (self.sources, self.warnings, byteCount) = (sources, warnings, budget.bytes)
  }

  private struct Budget {
    let bytesMax: Int
    private(set) var bytes = 0
    private(set) var largest: (path: String, bytes: Int)?
    private var before = 0
    /// What the features take that are held.
    private var held = 0

    init(bytesMax: Int) { self.bytesMax = bytesMax }

    /// Whether those that are held must go before one more.
    mutating func isFull(with feature: MapFeature) -> Bool {
      let isOver = bytes + feature.byteCount > bytesMax
      guard isOver, held > 0, bytes <= bytesMax || held + feature.byteCount > bytesMax / 4 else { return false }
      held = 0
      return true
    }

    mutating func take(_ feature: MapFeature) {
      bytes += feature.byteCount
      held += feature.byteCount
    }

    mutating func end(of path: String) {
      if bytes - before > largest?.bytes ?? 0 { largest = (path, bytes - before) }
      before = bytes
    }
  }

  private static func read(_ path: String, properties: Set<String>, _ take: (MapFeature) -> Void) throws -> Int {
    do {
      return try FeatureFile.read(path: path, properties: properties, take)
    } catch let error as TrackError {
      throw CutError(
        error.code == .unreadable ? .unreadableSource : .badSource, path: error.path, error.message,
        remedy: error.remedy)
    }
  }

  private static func trace(
    _ contours: VectorLayer.Contours, _ resources: CutResources, _ take: (MapFeature) -> Void
  ) throws {
    let open = RasterOpenOptions(
      cacheBytesMax: min(16 << 20, resources.memoryBytes / 8), scratchDirectory: FileSystem.temporaryFolder
    ).forHeights
    let models = try contours.models.enumerated().map { index, path in
      try Cutter.source(SourceFile(path: path), contours.settings[index] ?? SourceSettings(), open)
    }
    for model in JoinedRaster.joining(models) {
      let tracer = try ContourTracer(model, bytesMax: resources.layerBytesMax)
      // What is a little too much is traced and counted; of what is far too much the positions suffice.
      let most = resources.layerBytesMax
      let farTooMuch = most > .max / 4 ? .max : 4 * most
      let bytes = try tracer.forEachFeature(
        interval: contours.interval, indexEvery: contours.indexEvery, bytesMax: farTooMuch, take)
      guard bytes <= farTooMuch else {
        // What is drawn of them comes to it.
        throw CutError.layersTooLarge(
          features: bytes, drawn: nil, zooms: nil, path: model.path, resources: resources)
      }
    }
  }
}

/// The features of a file that no rule can draw, whatever its filter.
private struct UndrawnFeatures {
  var withoutGeometry = 0
  private let rules: [StyleRule]
  private var total = 0
  private var counts: [MapFeature.Kind: Int] = [:]

  init(_ rules: [StyleRule]) { self.rules = rules }

  mutating func count(_ feature: MapFeature) {
    total += 1
    if !rules.contains(where: { $0.draws(feature.kind) }) { counts[feature.kind, default: 0] += 1 }
  }

  /// A line for each reason.
  var lines: [String] {
    var lines: [String] = []
    if withoutGeometry > 0 {
      lines.append(
        withoutGeometry == 1
          ? "1 feature has no geometry and is not drawn"
          : "\(withoutGeometry) features have no geometry and are not drawn"
      )
    }
    for (kind, count) in counts.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
      lines.append(
        "\(count) of \(total) features \(count == 1 ? "is" : "are") of the kind \(kind.rawValue), which no rule of the"
          + " style draws")
    }
    return lines
  }
}

/// What layers take when they are drawn, for which there is no room.
private struct DrawingNeed {
  /// Nil if only the sources say so.
  let zooms: ClosedRange<Int>?
  /// Nil if it is not known.
  private(set) var bytes: Int?
  private(set) var error: CutError?
  private let matrixSet: TileMatrixSet?
  private let density: Double

  init(_ options: CutOptions) {
    matrixSet = try? options.matrixSet.withPixels(times: options.pixelFactor)
    density = Double(options.scaleFactor)
    guard case .levels(let levels) = options.zoom, let known = matrixSet?.zooms,
      known.contains(levels.lowerBound), known.contains(levels.upperBound)
    else {
      (zooms, bytes) = (nil, nil)
      return
    }
    (zooms, bytes) = (levels, 0)
  }

  mutating func add(_ source: VectorMap.Layer.Source, of layer: VectorLayer) {
    guard let bytes, let zooms, let matrixSet, error == nil else { return }
    // A graticule is made for the area of the sources, which are not open yet.
    guard case .features(let features) = source else {
      self.bytes = nil
      return
    }
    guard !features.isEmpty else { return }
    do {
      let layer = try Cutter.drawn(layer, source)
      self.bytes = bytes + (try VectorMap.byteCount(of: layer, zooms, matrixSet: matrixSet, density: density))
    } catch let error as DrawingError {
      self.error = CutError(error)
    } catch {
      self.error = error as? CutError
    }
  }
}

extension CutError {
  /// - Parameters:
  ///   - drawn: what is drawn of the features at some zooms; nil if it is not known.
  ///   - path: the file that takes most of it.
  static func layersTooLarge(
    features: Int, drawn: Int?, zooms: ClosedRange<Int>?, path: String?, resources: CutResources
  ) -> CutError {
    func megabytes(_ bytes: Int) -> Int { (bytes + 999_999) / 1_000_000 }
    let bytes = features + (drawn ?? 0)
    // Half of the memory is theirs. A tenth is for labels: if layers are measured in pieces, others have room.
    let needed = megabytes(2 * bytes + bytes / 5)
    let what =
      if let drawn, let zooms {
        "\(features / 1_000_000) MB of features, \(drawn / 1_000_000) MB drawn at zooms \(zooms.lowerBound)"
          + " to \(zooms.upperBound)"
      } else {
        "features alone"
      }
    let advice =
      drawn != nil
      ? "give --memory \(needed)MB (of a build, for each of its jobs)"
      : "give --memory of more than \(needed)MB (of a build, for each of its jobs), as drawing them takes some, too"
    return CutError(
      .invalidOption, path: path,
      "the layers take \(megabytes(bytes)) MB (\(what)), and half of the cut's \(megabytes(resources.memoryBytes)) MB"
        + " is for them",
      remedy: "\(advice), cut less of them (ogr2ogr -clipsrc), or simplify them (ogr2ogr -simplify)")
  }
}
