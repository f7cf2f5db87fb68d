import TileIndex

/// The place of a JPEG 2000 image in its GML box (OGC 05-047r3, GMLJP2), read as GDAL reads it: the first rectified
/// grid of the root instance, an origin in the middle of the first pixel and two offset vectors.
struct GMLCoverage {
  private(set) var affine: Affine?
  /// For ``CoordinateReferenceSystem``; nil if the box names none.
  private(set) var crs: String?

  /// Longer documents describe features.
  static let bytesMax = 4 << 20

  /// - Parameter isNorthFirst: whether the authority's axis order of a code, such as `EPSG:4326`, begins with north.
  init(_ text: [UInt8], isNorthFirst: (_ code: String) throws -> Bool) rethrows {
    var reading = Reading()
    do {
      try XMLReader.read(text) { reading.take($0) }
    } catch {
      // What was read before the damage does not place an image reliably.
      return
    }
    guard reading.origin.count >= 2, reading.offsets.count >= 2, reading.offsets.allSatisfy({ $0.count >= 2 }) else {
      return
    }
    let (first, second) = (reading.offsets[0], reading.offsets[1])
    var (a, b, d, e) = (first[0], second[0], first[1], second[1])
    var (c, f) = (reading.origin[0] - (a + b) / 2, reading.origin[1] - (d + e) / 2)
    let name = reading.srsName ?? reading.envelopeName
    let code = name.flatMap(Self.code)
    crs = code ?? name
    if let code, !reading.isEastFirst, try isNorthFirst(code) {
      swap(&c, &f)
      // Writers disagree whether the order of the vectors' coordinates goes with the axes; GDAL's comment says it.
      if text.contains(Self.otherOrder) { (a, b, d, e) = (e, d, b, a) } else { (a, b, d, e) = (d, e, a, b) }
    }
    affine = Affine(a: a, b: b, c: c, d: d, e: e, f: f)
  }

  private static let otherOrder = Array("GDAL_JP2K_ALT_OFFSETVECTOR_ORDER=TRUE".utf8)

  /// `EPSG:32633` for the names whose axis order is the authority's: `urn:ogc:def:crs:EPSG::32633`,
  /// `http://www.opengis.net/def/crs/EPSG/0/32633`, `http://www.opengis.net/gml/srs/epsg.xml#32633`.
  private static func code(_ name: String) -> String? {
    let lower = name.lowercased()
    guard lower.hasPrefix("urn:") || lower.hasPrefix("http://") || lower.hasPrefix("https://"), lower.contains("epsg"),
      let last = lower.split(whereSeparator: { ":/#".contains($0) }).last, let number = Int(last), number > 0
    else { return nil }
    return "EPSG:\(number)"
  }

  /// The state between two events of the XML reader.
  private struct Reading {
    var origin: [Double] = []
    var offsets: [[Double]] = []
    var srsName: String?
    var envelopeName: String?
    private var axes: [String] = []
    private var open: [String] = []
    private var text = ""
    /// How deep the rectified grid lies, and whether it has ended.
    private var gridDepth: Int?
    private var isDone = false

    /// Some files name their axes, easting first, whatever the authority's order is.
    var isEastFirst: Bool {
      axes.count >= 2 && ["easting", "longitude"].contains(axes[0]) && ["northing", "latitude"].contains(axes[1])
    }

    mutating func take(_ event: XMLReader.Event) {
      switch event {
      case .start(let name, let attributes, _):
        open.append(name)
        text = ""
        if name == "RectifiedGrid", gridDepth == nil { gridDepth = open.count }
        if let grid = inGrid, grid == ["origin", "Point"] { srsName = attributes["srsName"] }
        if name == "Envelope" { envelopeName = envelopeName ?? attributes["srsName"] }
      case .text(let piece): text += piece
      case .end:
        if let grid = inGrid { end(of: grid) }
        open.removeLast()
        text = ""
      }
    }

    private mutating func end(of grid: ArraySlice<String>) {
      switch grid {
      case ["origin", "Point", "pos"], ["origin", "Point", "coordinates"]: origin = numbers
      case ["offsetVector"]: offsets.append(numbers)
      case ["axisName"]: axes.append(text.filter { !$0.isWhitespace }.lowercased())
      case []: isDone = true
      default: break
      }
    }

    /// The elements from the rectified grid to the present place; nil outside of it.
    private var inGrid: ArraySlice<String>? {
      guard let gridDepth, !isDone, open.count >= gridDepth else { return nil }
      return open[gridDepth...]
    }

    private var numbers: [Double] {
      let parts = text.split { $0.isWhitespace || $0 == "," }.map { Double($0) }
      return parts.allSatisfy { $0?.isFinite == true } ? parts.compactMap(\.self) : []
    }
  }
}
