import RegionCatalog
import Support
import TileIndex

extension RegionSettings {
  /// The keys of `defaults` and categories, also valid in regions.
  package static let keys =
    [
      "sources", "layers", "edition", "priceTier", "preview", "gazetteers", "packBytes", "clip", "buffer", "container",
    ] + CutSetting.all.map(\.name)
  package static let previewKeys = ["bounds", "zoom", "width", "height"]
  package static let gridKeys = ["id", "tileEdges", "tileSizes", "uri"]

  /// Overrides settings with the members of an object.
  mutating func take(_ object: ManifestObject, _ faults: ManifestFaults) {
    if let list = SourceSettings.list(object, "sources", faults) {
      (cut.sources, cut.sourceSettings, cut.drawing) = (list.files, list.settings, [])
    }
    if let layers = MapLayers(object, "layers", faults) {
      (cut.sources, cut.sourceSettings, cut.drawing) = (layers.files, layers.settings, layers.drawing)
      if object.has("sources") {
        object.fault("layers", "and sources both say what is drawn", remedy: "make sources a layer of type \"raster\"")
      }
    }
    for setting in CutSetting.all where object.has(setting.name) {
      do {
        try setting.take(object, &cut)
      } catch {
        object.fault(setting.name, "cannot be read: \(error)", remedy: "write another value")
      }
    }
    clip = object.flag("clip") ?? clip
    if let metres = object.number("buffer", in: 0...1_000_000) { buffer = metres }
    if let files = object.files("gazetteers") { gazetteers = files }
    container = object.word("container", among: Self.containers) ?? container
    if let text = object.shownText("priceTier") { priceTier = text }
    if let bytes = object.whole("packBytes", in: Self.packBytesLimits) { packBytesMax = bytes }
    if let text = object.text("edition", remedy: "write it in quotation marks, such as \"2026.1\"") {
      if RegionNames.isName(text) {
        edition = text
        // MBTiles requires a number here; other editions are only in ``RegionMetadata/editionKey``.
        cut.version = Double(text)?.isFinite == true ? text : nil
      } else {
        object.fault(
          "edition", "cannot be part of a file's name: \"\(text)\"", remedy: RegionManifest.nameRemedy)
      }
    }
    if let picture = ManifestObject(
      object.value("preview"), at: object.place("preview"), keys: Self.previewKeys, faults)
    {
      if let box = picture.box("bounds") { preview.bounds = box }
      if let zoom = picture.whole("zoom", in: 0...TileID.zoomMax) { preview.zoom = zoom }
      if let width = picture.whole("width", in: 16...4096) { preview.width = width }
      if let height = picture.whole("height", in: 16...4096) { preview.height = height }
    }
  }

  /// The minimum is about the size of an empty bundle.
  package static let packBytesLimits = 256_000...1_000_000_000_000
}

/// The values of settings.
extension ManifestObject {
  /// `[min, max]`, or one number.
  func zooms(_ key: String) -> ClosedRange<Int>? {
    let remedy = remedy("write [0, 12], or one number", option: "give one such as 8, or two such as 0-12")
    if case .number? = value(key) { return whole(key, in: 0...TileID.zoomMax).map { $0...$0 } }
    guard let ends = numbers(key, count: 2, remedy: remedy) else { return nil }
    guard let low = Int(exactly: ends[0]), let high = Int(exactly: ends[1]), 0 <= low, low <= high,
      high <= TileID.zoomMax
    else {
      fault(key, "is not two whole numbers from 0 to \(TileID.zoomMax) that rise", remedy: remedy)
      return nil
    }
    return low...high
  }

  /// `[min, max]`, or `"auto"`.
  func sampleRange(_ key: String) -> SampleRange? {
    let remedy = remedy(
      "write [0, 4400], or \"\(SampleRange.autoWord)\"", option: "give 0,4400 or \(SampleRange.autoWord)")
    if case .string(let text)? = value(key) {
      if text == SampleRange.autoWord { return .auto }
      fault(key, "is no range of values: \"\(text)\"", remedy: remedy)
      return nil
    }
    guard let ends = numbers(key, count: 2, remedy: remedy) else { return nil }
    guard ends[0] != ends[1] else {
      fault(key, "has two equal values", remedy: remedy)
      return nil
    }
    return .values(low: ends[0], high: ends[1])
  }

  /// One band's number, or three.
  func bands(_ key: String) -> [Int]? {
    let remedy = remedy(
      "write one band's number or three, such as [4, 3, 2]; the first band is 1",
      option: "give one band's number or three, such as 4,3,2; the first band is 1")
    guard let numbers = numbers(key, remedy: remedy) else { return nil }
    let bands = numbers.compactMap { Int(exactly: $0) }
    guard bands.count == numbers.count, BandChoice.isValid(bands) else {
      fault(key, "are not one or three bands", remedy: remedy)
      return nil
    }
    return bands
  }

  /// `"none"`, or a band's number.
  func alphaBand(_ key: String) -> AlphaBand? {
    if case .number? = value(key) { return whole(key, in: 1...65535).map { .number($0) } }
    let remedy = remedy(
      "write \"\(AlphaBand.absentWord)\", or the band's number",
      option: "give \(AlphaBand.absentWord), or the band's number")
    guard let word = text(key, remedy: remedy) else { return nil }
    guard word == AlphaBand.absentWord else {
      fault(key, "is no band: \"\(word)\"", remedy: remedy)
      return nil
    }
    return .absent
  }

  /// A built-in grid by its name, else its definition, which for an option is in a file.
  ///
  /// - Throws: `BundleError` for a file that has no grid.
  func grid(_ key: String) throws -> TileMatrixSet? {
    guard let value = value(key) else { return nil }
    if isOption, let file = value.string, TileMatrixSet.named(file) == nil {
      if file.lowercased().hasSuffix(".json") || FileSystem.kind(file) != nil {
        return try TileMatrixSetDocument.matrixSet(inFile: file, lookup: CoordinateReferenceSystem.forGrid)
      }
    }
    let names = TileMatrixSet.builtIn.map(\.identifier)
    if value["tileMatrices"] != nil || value["tileMatrix"] != nil {
      do {
        return try value.decoded(as: TileMatrixSetDocument.self).matrixSet(faults.crsLookup)
      } catch {
        fault(
          key, "is no grid: \((error as? DecodingError).map { "\($0.place) \($0.complaint)" } ?? "\(error)")",
          remedy: "write it as OGC's Two Dimensional Tile Matrix Set says")
        return nil
      }
    }
    if case .object = value {
      guard let grid = ManifestObject(value, at: place(key), keys: RegionSettings.gridKeys, faults) else { return nil }
      let id = grid.text("id", required: true, remedy: "give the grid a name of its own")
      if !grid.has("tileEdges") {
        grid.fault(
          "tileEdges", "is missing", remedy: "list the edges of the levels' tiles in degrees, from the coarsest")
      }
      let edges = grid.numbers("tileEdges", remedy: "list the edges of the levels' tiles in degrees, from the coarsest")
      let sizes = grid.numbers("tileSizes", remedy: "write [288], or a number of pixels for each level")
      guard let id, let edges else { return nil }
      let wholeSizes = (sizes ?? [256]).compactMap(Int.init(exactly:))
      let uri = grid.text("uri") ?? TileMatrixSet.ownURI(id)
      guard TileMatrixSet.named(id) == nil, TileMatrixSet.named(uri) == nil else {
        grid.fault("id", "is that of a built-in grid: \"\(id)\"", remedy: "give the grid a name of its own")
        return nil
      }
      do {
        return try TileMatrixSet(identifier: id, uri: uri, tileEdges: edges, tileSizes: wholeSizes)
      } catch {
        fault(key, "is no grid: \(error)", remedy: "let each edge be a whole multiple of the next")
        return nil
      }
    }
    guard let name = text(key, remedy: "write \(names.joined(separator: " or "))") else { return nil }
    guard let known = TileMatrixSet.named(name) else {
      fault(
        key, "is no grid that is known here" + (isOption ? ", and no such file" : ": \"\(name)\""),
        remedy: Spelling.nearest(to: name, among: names).map { "did you mean \"\($0)\"?" }
          ?? remedy(
            "write \(names.joined(separator: " or ")), or define it",
            option: "give \(names.joined(separator: ", ")), or a file with a Two Dimensional Tile Matrix Set (.json)"))
      return nil
    }
    return known
  }
}
