import Support
import TileIndex

extension RegionSettings {
  /// The keys of `defaults` and categories, also valid in regions.
  package static let keys = [
    "sources", "layers", "zoom", "variableDepth", "matrix", "tileSize", "scaleFactor", "format", "quality", "effort",
    "colors",
    "resampling", "linear", "nodata", "scale", "bands", "alpha", "crs", "attribution", "type", "edition", "priceTier",
    "preview", "gazetteers", "packBytes", "clip", "buffer", "container",
  ]
  package static let previewKeys = ["bounds", "zoom", "width", "height"]
  package static let gridKeys = ["id", "tileEdges", "tileSizes", "uri"]

  /// Overrides settings with the members of an object.
  mutating func take(_ object: ManifestObject, _ faults: ManifestFaults) {
    if let list = SourceSettings.list(object, "sources", faults) {
      (sources, sourceSettings, drawing) = (list.files, list.settings, [])
    }
    if let layers = MapLayers(object, "layers", faults) {
      (sources, sourceSettings, drawing) = (layers.files, layers.settings, layers.drawing)
      if object.has("sources") {
        object.fault("layers", "and sources both say what is drawn", remedy: "make sources a layer of type \"raster\"")
      }
    }
    if let value = object.flag("clip", remedy: "write true to clip to the boundary") { clip = value }
    if let value = object.flag("linear", remedy: "write true to average in linear light") { linear = value }
    if let metres = object.number("buffer", remedy: Self.bufferRemedy) {
      if Self.bufferLimits.contains(metres) {
        buffer = metres
      } else {
        object.fault("buffer", "is not a number of metres from 0 to 1000000", remedy: Self.bufferRemedy)
      }
    }
    if let files = object.files("gazetteers") { gazetteers = files }
    if let set = Self.grid(object, faults) { matrixSet = set }
    if let pixels = object.whole("tileSize", in: 256...512) {
      if Self.tileSizes.contains(pixels) {
        tileSize = pixels
      } else {
        object.fault("tileSize", "is neither 256 nor 512", remedy: "write one of them")
      }
    }
    if let factor = object.whole("scaleFactor", in: 1...2) { scaleFactor = factor }
    if let count = object.whole("colors", in: 2...256) { colors = count }
    if object.has("zoom") { zooms = Self.zooms(object) ?? zooms }
    if let value = object.flag("variableDepth", remedy: "write true to end each area at its sources' zoom") {
      variableDepth = value
    }
    if let word = object.word("container", among: Self.containers.map(\.rawValue)) {
      container = BundleFile.Kind(rawValue: word) ?? container
    }
    if let word = object.word("format", among: Format.allCases.map(\.rawValue)) {
      format = Format(rawValue: word) ?? format
      // An inherited quality belongs to the inherited format.
      if !object.has("quality") { quality = nil }
      if !object.has("effort") { effort = "balanced" }
      if !object.has("colors") { colors = nil }
    }
    if let number = object.whole("quality", in: 1...100) { quality = number }
    if let word = object.word("effort", among: Self.efforts) { effort = word }
    if let word = object.word("resampling", among: Self.resamplings) { resampling = word }
    if let values = object.numbers("nodata", remedy: "write [0], or a number for each band") { nodata = values }
    if let range = Self.scale(object) { scale = range }
    if let list = Self.bands(object) { bands = list }
    if let band = Self.alpha(object) { alpha = band }
    if let text = object.text("crs", remedy: "write EPSG:n, WKT or a PROJ string") { crs = text }
    if let text = object.shownText("attribution") { attribution = text }
    if let word = object.word("type", among: BundleMetadata.Kind.allCases.map(\.rawValue)) {
      type = BundleMetadata.Kind(rawValue: word) ?? type
    }
    if let text = object.shownText("priceTier") { priceTier = text }
    if let bytes = object.whole("packBytes", in: Self.packBytesLimits) { packBytesMax = bytes }
    if let text = object.text("edition", remedy: "write it in quotation marks, such as \"2026.1\"") {
      if RegionManifest.isName(text) {
        edition = text
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

  package static let tileSizes = [256, 512]

  private static let bufferRemedy = "write a number of metres"
  private static let bufferLimits = 0.0...1_000_000

  /// The minimum is about the size of an empty bundle.
  package static let packBytesLimits = 256_000...1_000_000_000_000

  /// `[min, max]`, or one number.
  private static func zooms(_ object: ManifestObject) -> ClosedRange<Int>? {
    let remedy = "write [0, 12], or one number"
    if case .number? = object.value("zoom") {
      return object.whole("zoom", in: 0...TileID.zoomMax).map { $0...$0 }
    }
    guard let ends = object.numbers("zoom", count: 2, remedy: remedy) else { return nil }
    guard let low = Int(exactly: ends[0]), let high = Int(exactly: ends[1]), 0 <= low, low <= high,
      high <= TileID.zoomMax
    else {
      object.fault("zoom", "is not two whole numbers from 0 to \(TileID.zoomMax) that rise", remedy: remedy)
      return nil
    }
    return low...high
  }

  /// `[min, max]`, or `"auto"`.
  private static func scale(_ object: ManifestObject) -> SampleRange? {
    let remedy = "write [0, 4400], or \"\(SampleRange.autoWord)\""
    if case .string(let text)? = object.value("scale") {
      if text == SampleRange.autoWord { return .auto }
      object.fault("scale", "is no range of values: \"\(text)\"", remedy: remedy)
      return nil
    }
    guard let ends = object.numbers("scale", count: 2, remedy: remedy) else { return nil }
    guard ends[0] != ends[1] else {
      object.fault("scale", "has two equal values", remedy: remedy)
      return nil
    }
    return .values(low: ends[0], high: ends[1])
  }

  /// One band's number, or three.
  static func bands(_ object: ManifestObject) -> [Int]? {
    let remedy = "write one band's number or three, such as [4, 3, 2]; the first band is 1"
    guard let numbers = object.numbers("bands", remedy: remedy) else { return nil }
    let bands = numbers.compactMap { Int(exactly: $0) }
    guard bands.count == numbers.count, BandChoice.isValid(bands) else {
      object.fault("bands", "are not one or three bands", remedy: remedy)
      return nil
    }
    return bands
  }

  /// `"none"`, or a band's number.
  static func alpha(_ object: ManifestObject) -> AlphaBand? {
    if case .number? = object.value("alpha") { return object.whole("alpha", in: 1...65535).map { .number($0) } }
    let remedy = "write \"\(AlphaBand.absentWord)\", or the band's number"
    guard let word = object.text("alpha", remedy: remedy) else { return nil }
    guard word == AlphaBand.absentWord else {
      object.fault("alpha", "is no band: \"\(word)\"", remedy: remedy)
      return nil
    }
    return .absent
  }

  private static func grid(_ object: ManifestObject, _ faults: ManifestFaults) -> TileMatrixSet? {
    guard let value = object.value("matrix") else { return nil }
    let names = TileMatrixSet.builtIn.map(\.identifier)
    if value["tileMatrices"] != nil || value["tileMatrix"] != nil {
      do {
        return try value.decoded(as: TileMatrixSetDocument.self).matrixSet(faults.crsLookup)
      } catch {
        object.fault(
          "matrix", "is no grid: \((error as? DecodingError).map { "\($0.place) \($0.complaint)" } ?? "\(error)")",
          remedy: "write it as OGC's Two Dimensional Tile Matrix Set says")
        return nil
      }
    }
    if case .object = value {
      guard let grid = ManifestObject(value, at: object.place("matrix"), keys: gridKeys, faults) else { return nil }
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
        object.fault("matrix", "is no grid: \(error)", remedy: "let each edge be a whole multiple of the next")
        return nil
      }
    }
    guard let name = object.text("matrix", remedy: "write \(names.joined(separator: " or "))") else { return nil }
    guard let known = TileMatrixSet.named(name) else {
      object.fault(
        "matrix", "is no grid that is known here: \"\(name)\"",
        remedy: Spelling.nearest(to: name, among: names).map { "did you mean \"\($0)\"?" }
          ?? "write \(names.joined(separator: " or ")), or define it")
      return nil
    }
    return known
  }
}
