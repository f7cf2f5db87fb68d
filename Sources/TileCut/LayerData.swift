import MapDrawing
import RegionCatalog
import Support

/// The features of all layers that are drawn over the sources, in memory.
///
/// Of a file only what its style uses is read. What is too much is counted, not kept, so that the error says how much
/// memory the cut needs.
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
    for layer in options.drawing {
      var features: [MapFeature] = []
      var isEmpty = true
      func take(_ feature: MapFeature) {
        isEmpty = false
        if budget.take(feature) { features.append(feature) }
      }
      switch layer.data {
      case .file(let path):
        let names = layer.rules.reduce(into: Set<String>()) { $0.formUnion($1.propertyNames) }
        try Self.read(path, properties: names, take)
        budget.end(of: path)
        if isEmpty { warnings.append("\(path): has no features") }
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
      throw CutError.layersTooLarge(
        bytes: budget.bytes, path: budget.largest?.path, "features alone", resources: resources)
    }
    (self.sources, self.warnings, byteCount) = (sources, warnings, budget.bytes)
  }

  private struct Budget {
    let bytesMax: Int
    private(set) var bytes = 0
    private(set) var largest: (path: String, bytes: Int)?
    private var before = 0

    init(bytesMax: Int) { self.bytesMax = bytesMax }

    /// - Returns: whether there is room for the feature.
    mutating func take(_ feature: MapFeature) -> Bool {
      bytes += feature.byteCount
      return bytes <= bytesMax
    }

    mutating func end(of path: String) {
      if bytes - before > largest?.bytes ?? 0 { largest = (path, bytes - before) }
      before = bytes
    }
  }

  private static func read(_ path: String, properties: Set<String>, _ take: (MapFeature) -> Void) throws {
    do {
      try FeatureFile.read(path: path, properties: properties, take)
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
        throw CutError.layersTooLarge(bytes: bytes / 2 * 3, path: model.path, "contours alone", resources: resources)
      }
    }
  }
}

extension CutError {
  /// - Parameter path: the file that takes most of it.
  static func layersTooLarge(bytes: Int, path: String?, _ what: String, resources: CutResources) -> CutError {
    func megabytes(_ bytes: Int) -> Int { (bytes + 999_999) / 1_000_000 }
    // Half of the memory is theirs. Labels, which are not counted when it is too little, take some percent.
    let needed = megabytes(2 * bytes + bytes / 5)
    return CutError(
      .invalidOption, path: path,
      "the layers take \(megabytes(bytes)) MB (\(what)), and half of the cut's \(megabytes(resources.memoryBytes)) MB"
        + " is for them",
      remedy: "give --memory \(needed)MB (of a build, for each of its jobs), cut less of them (ogr2ogr -clipsrc), or"
        + " simplify them (ogr2ogr -simplify)")
  }
}
