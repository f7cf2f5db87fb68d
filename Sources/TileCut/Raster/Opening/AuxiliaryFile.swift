import TileIndex

/// What GDAL and programs built on it keep beside an image of any format, in `IMAGE.aux.xml` (a PAMDataset): its
/// georeference and properties of its bands.
struct AuxiliaryFile: Sendable {
  let path: String
  private(set) var affine: Affine?
  private(set) var controlPoints: [GroundControlPoint] = []
  /// WKT of the CRS.
  private(set) var projection: String?
  /// The bands' nodata values, by number from 1.
  private(set) var nodataByBand: [Int: Double] = [:]
  /// The smallest and largest value of each band, by number from 1: of its statistics, or else of its histogram.
  private(set) var rangeByBand: [Int: ClosedRange<Double>] = [:]
  /// The colours of values, by the bands' numbers from 1.
  private(set) var colourTables: [Int: ColourTable] = [:]
  /// What bands show, in lower case, such as `red` or `alpha`, by their numbers from 1.
  private(set) var interpretations: [Int: String] = [:]

  /// The nodata values in the form of the option: one for each band from the first on; nil if there is none.
  var nodata: [Double]? {
    let values = (1...(nodataByBand.count + 1)).prefix { nodataByBand[$0] != nil }.map { nodataByBand[$0]! }
    return values.isEmpty ? nil : values
  }

  /// Longer files hold tables of attributes.
  private static let bytesMax = 16 << 20

  /// Reads the file beside a raster; nil if there is none.
  ///
  /// - Throws: ``CutError`` `.noGeoreference` if it is damaged: without it the raster might be placed elsewhere.
  init?(beside raster: String) throws {
    path = SideFiles(path: raster).auxiliary
    // In whatever encoding it declares.
    guard let text = SourceFile.bytes(at: path, bytesMax: Self.bytesMax) else { return nil }
    var reading = Reading()
    do {
      try XMLReader.read(text) { reading.take($0) }
    } catch let error as XMLReader.SyntaxError {
      throw CutError(
        .noGeoreference, path: path, "is damaged: \(error)", remedy: "repair or remove it; gdalinfo writes it anew")
    }
    guard reading.isDataset else { return nil }
    nodataByBand = reading.nodata
    rangeByBand = reading.histograms.merging(reading.statistics.ranges) { $1 }
    (colourTables, interpretations) = (reading.colourTables, reading.interpretations)
    projection = [reading.projection, reading.pointProjection].first { !$0.isEmpty }
    controlPoints = reading.points
    if let numbers = reading.transform {
      let (c, a, b, f, d, e) = (numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], numbers[5])
      affine = Affine(a: a, b: b, c: c, d: d, e: e, f: f)
    }
  }

  /// The state between two events of the XML reader.
  private struct Reading {
    var isDataset = false
    var projection = ""
    var pointProjection = ""
    var transform: [Double]?
    var points: [GroundControlPoint] = []
    var nodata: [Int: Double] = [:]
    var statistics = BandStatistics()
    var histograms: [Int: ClosedRange<Double>] = [:]
    var colourTables: [Int: ColourTable] = [:]
    var interpretations: [Int: String] = [:]
    private var histogram: [String: String] = [:]
    private var open: [String] = []
    private var text = ""
    private var band = 0
    private var item = ""

    mutating func take(_ event: XMLReader.Event) {
      switch event {
      case .start(let name, let attributes, _):
        open.append(name)
        text = ""
        begin(name, attributes)
      case .text(let piece): text += piece
      case .end:
        end()
        open.removeLast()
        text = ""
      }
    }

    private mutating func begin(_ name: String, _ attributes: [String: String]) {
      if open == ["PAMDataset"] { isDataset = true }
      if open == ["PAMDataset", "PAMRasterBand"] { band = attributes["band"].flatMap { Int($0) } ?? 0 }
      if open == ["PAMDataset", "GCPList"] { pointProjection = attributes["Projection"] ?? "" }
      if open == ["PAMDataset", "GCPList", "GCP"], let point = GroundControlPoint(attributes: attributes) {
        points.append(point)
      }
      if open == ["PAMDataset", "PAMRasterBand", "ColorTable", "Entry"] {
        colourTables[band, default: ColourTable()].add(attributes)
      }
      if name == "MDI" { item = attributes["key"] ?? "" }
    }

    private mutating func end() {
      let word = text.filter { !$0.isWhitespace }
      switch open.dropFirst() {
      case ["SRS"]: projection = text
      case ["GCPList", "SRS"]: pointProjection = text
      case ["GeoTransform"]:
        let numbers = word.split(separator: ",").compactMap { Double($0) }
        if numbers.count == 6 { transform = numbers }
      case ["PAMRasterBand", "NoDataValue"]: nodata[band] = Double(word)
      case ["PAMRasterBand", "ColorInterp"]: interpretations[band] = word.lowercased()
      case ["PAMRasterBand", "Metadata", "MDI"]: statistics.take(item, word, band: band)
      case ["PAMRasterBand", "Histograms", "HistItem"]:
        histograms[band] = histogramRange ?? histograms[band]
        histogram = [:]
      case let path where path.starts(with: ["PAMRasterBand", "Histograms", "HistItem"]): histogram[path.last!] = word
      default: break
      }
    }

    /// The ends of the first and the last bucket that hold values; nil for a histogram of some of the pixels.
    private var histogramRange: ClosedRange<Double>? {
      guard let low = histogram["HistMin"].flatMap({ Double($0) }),
        let high = histogram["HistMax"].flatMap({ Double($0) }),
        let counts = histogram["HistCounts"]?.split(separator: "|"), low < high, high - low < .infinity,
        histogram["Approximate"] != "1", histogram["IncludeOutOfRange"] != "1",
        let first = counts.firstIndex(where: { $0 != "0" }), let last = counts.lastIndex(where: { $0 != "0" })
      else { return nil }
      let width = (high - low) / Double(counts.count)
      // A bucket of one integer has that integer in its middle.
      let inset = abs(width - 1) < 1e-6 ? 0.5 : 0
      let (start, end) = (low + Double(first) * width + inset, low + Double(last + 1) * width - inset)
      return min(start, end)...max(start, end)
    }
  }
}

/// The smallest and largest values of bands that GDAL's statistics state (`STATISTICS_MINIMUM` and others).
struct BandStatistics {
  private var minima: [Int: Double] = [:]
  private var maxima: [Int: Double] = [:]
  /// Bands of which only some pixels were looked at.
  private var sampled: Set<Int> = []

  /// Takes an item of a band's metadata; others than those of the range do not count.
  mutating func take(_ key: String, _ text: String, band: Int) {
    switch key {
    case "STATISTICS_MINIMUM": minima[band] = Double(text)
    case "STATISTICS_MAXIMUM": maxima[band] = Double(text)
    case "STATISTICS_APPROXIMATE": if text.uppercased() == "YES" { sampled.insert(band) }
    default: break
    }
  }

  /// The exact ranges, by the bands' numbers.
  var ranges: [Int: ClosedRange<Double>] {
    var ranges: [Int: ClosedRange<Double>] = [:]
    for (band, low) in minima where !sampled.contains(band) {
      if let high = maxima[band], low <= high, low.isFinite, high.isFinite { ranges[band] = low...high }
    }
    return ranges
  }
}
