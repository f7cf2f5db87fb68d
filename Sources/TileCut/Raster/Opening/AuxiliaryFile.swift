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
  /// The smallest and largest value of each band, by number from 1.
  private(set) var rangeByBand: [Int: ClosedRange<Double>] = [:]

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
    guard let text = SourceFile.text(at: path, bytesMax: Self.bytesMax) else { return nil }
    var reading = Reading()
    do {
      try XMLReader.read(Array(text.utf8)) { reading.take($0) }
    } catch let error as XMLReader.SyntaxError {
      throw CutError(
        .noGeoreference, path: path, "is damaged: \(error)", remedy: "repair or remove it; gdalinfo writes it anew")
    }
    guard reading.isDataset else { return nil }
    nodataByBand = reading.nodata
    for (band, low) in reading.minima {
      if let high = reading.maxima[band], low <= high { rangeByBand[band] = low...high }
    }
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
    var minima: [Int: Double] = [:]
    var maxima: [Int: Double] = [:]
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
      if open == ["PAMDataset", "GCPList", "GCP"] {
        let numbers = ["Pixel", "Line", "X", "Y"].compactMap { attributes[$0].flatMap { Double($0) } }
        guard numbers.count == 4 else { return }
        points.append(
          GroundControlPoint(pixel: SIMD2(numbers[0], numbers[1]), place: SIMD2(numbers[2], numbers[3])))
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
      case ["PAMRasterBand", "Metadata", "MDI"] where item == "STATISTICS_MINIMUM": minima[band] = Double(word)
      case ["PAMRasterBand", "Metadata", "MDI"] where item == "STATISTICS_MAXIMUM": maxima[band] = Double(word)
      default: break
      }
    }
  }
}
