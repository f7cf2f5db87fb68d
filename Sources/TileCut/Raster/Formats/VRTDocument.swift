import LibC
import Support
import TileIndex

/// A GDAL virtual raster (VRT): an XML file that composes the bands of a raster from parts of other files.
///
/// Only what a mosaic needs is read: bands of simple sources, complex ones that have nodata values alone, and a mask of
/// such sources. Anything that computes values is refused.
struct VRTDocument {
  struct Band {
    /// In drawing order.
    var sources: [Source] = []
    var nodata: Double?
    /// The colour interpretation in lower case.
    var interpretation = ""
    /// The colours of the band's values, whatever colours its sources have.
    var colourTable: ColourTable?
  }

  struct Source: Hashable {
    var file = ""
    /// From 1.
    var band = 1
    /// The source is the mask of the band, not the band.
    var isMask = false
    /// Rectangles in pixels of the source and of the VRT; nil means all.
    var from: Rect?
    var to: Rect?
    var nodata: Double?
    /// Every sample has this value, whatever the file says; what `gdalbuildvrt -addalpha` writes.
    var constant: Double?
    var ratio = 1.0

    /// The same part of the same file, whatever the band.
    func isBeside(_ other: Source) -> Bool { file == other.file && from == other.from && to == other.to }
  }

  struct Rect: Hashable {
    var x = 0.0
    var y = 0.0
    var width = 0.0
    var height = 0.0
  }

  let path: String
  let width: Int
  let height: Int
  let bands: [Band]
  /// The band that says which pixels are visible: those that are not zero.
  let mask: Band?
  /// Six numbers as GDAL orders them.
  let transform: [Double]?
  let controlPoints: [GroundControlPoint]
  /// WKT, or any definition that PROJ knows.
  let projection: String?

  static let bytesMax = 64 << 20
  /// Larger rasters than libtiff allows.
  private static let edgeMax = Int(Int32.max)

  /// - Throws: ``CutError`` `.badSource` for documents that are damaged or compute values.
  init(_ file: SourceFile) throws {
    path = file.path
    guard file.size <= Self.bytesMax else {
      throw CutError(
        .badSource, path: file.path, "is too long for a VRT: \(file.size) bytes", remedy: "divide it into several files"
      )
    }
    var reading = Reading(path: file.path)
    do {
      try XMLReader.read(Self.document(file.bytes(at: 0, count: file.size))) { try reading.take($0) }
    } catch let error as XMLReader.SyntaxError {
      throw CutError(.badSource, path: file.path, "is damaged: \(error)", remedy: "make it again with gdalbuildvrt")
    }
    guard let width = reading.width, let height = reading.height, (1...Self.edgeMax).contains(width),
      (1...Self.edgeMax).contains(height)
    else { throw reading.damaged("has no size") }
    guard !reading.bands.isEmpty else { throw reading.damaged("has no band") }
    (self.width, self.height, bands) = (width, height, reading.bands)
    mask = try reading.commonMask()
    (transform, controlPoints) = (reading.transform, reading.points)
    let projections = [reading.projection, reading.pointProjection]
    projection = (reading.transform == nil ? projections.reversed() : projections).compactMap(\.self).first
  }

  /// The text of a VRT whose names of files may be no UTF-8: GDAL writes the bytes of a name as they are.
  private static func document(_ bytes: [UInt8]) -> [UInt8] {
    let head = String(decoding: bytes.prefix { $0 != UInt8(ascii: ">") }, as: UTF8.self).lowercased()
    let isOtherEncoding =
      bytes.first == 0xff || bytes.first == 0xfe || head.contains("encoding") && !head.contains("utf-8")
    return isOtherEncoding ? bytes : Array(SystemPath.text(bytes).utf8)
  }

  /// - Parameter what: such as `scaled values`.
  func refused(_ what: String) -> CutError { Self.refused(what, path: path) }

  private static func refused(_ what: String, path: String) -> CutError {
    CutError(
      .badSource, path: path, "is a VRT with \(what); only mosaics of simple sources are read",
      remedy: "write its pixels to a GeoTIFF first: gdal_translate \(path) map.tif")
  }

  /// The files that a VRT refers to, directly or through other VRTs; none if it is no VRT or damaged.
  static func files(of path: String, depth: Int = 0) -> [String] {
    guard depth < 4, let file = try? SourceFile(path: path),
      RasterFormat(file.prefix(RasterFormat.bytesWanted)) == .vrt,
      let document = try? VRTDocument(file)
    else { return [] }
    return document.files.flatMap { [$0] + files(of: $0, depth: depth + 1) }
  }

  /// The files that the VRT refers to, each once.
  var files: [String] {
    var known: Set<String> = []
    let all = bands + (mask.map { [$0] } ?? [])
    return all.flatMap(\.sources).map(\.file).filter { known.insert($0).inserted }
  }

  /// Elements that compute values or compose them otherwise.
  private static let computing: Set<String> = [
    "KernelFilteredSource", "AveragedSource", "NoDataFromMaskSource", "ArraySource", "LUT", "Exponent",
    "ColorTableComponent", "PixelFunctionType", "PansharpeningOptions", "GDALWarpOptions", "RawRasterBandSource",
    "ImageOffset", "ProcessingSteps", "Group", "DstMin", "SrcMin",
  ]

  /// The state between two events of the XML reader.
  private struct Reading {
    let path: String
    var width: Int?
    var height: Int?
    var bands: [Band] = []
    var transform: [Double]?
    var projection: String?
    var points: [GroundControlPoint] = []
    var pointProjection: String?
    /// Of the whole VRT, or of single bands.
    private var masks: [Band] = []
    private var bandMaskCount = 0
    private var open: [String] = []
    private var text = ""
    private var source: Source?
    private var isRelative = false

    /// The folder of the VRT itself, also where it is named by a symbolic link, as GDAL has it.
    private let folder: String

    init(path: String) {
      self.path = path
      folder = RelativePaths.folder(of: path)
    }

    func damaged(_ message: String) -> CutError {
      CutError(.badSource, path: path, message, remedy: "make the VRT again, for instance with gdalbuildvrt")
    }

    private func refused(_ what: String) -> CutError { VRTDocument.refused(what, path: path) }

    /// The mask of all bands.
    func commonMask() throws -> Band? {
      let isOfAll = bandMaskCount == 0 && masks.count <= 1 || bandMaskCount == bands.count
      guard isOfAll, masks.allSatisfy({ $0.sources == masks[0].sources }) else {
        throw refused("bands that have different masks")
      }
      return masks.first
    }

    mutating func take(_ event: XMLReader.Event) throws {
      switch event {
      case .start(let name, let attributes, _):
        if VRTDocument.computing.contains(name), !isSkipped { throw refused("<\(name)>") }
        open.append(name)
        text = ""
        try begin(name, attributes)
      case .text(let piece): text += piece
      case .end(let name):
        try end(name)
        open.removeLast()
        text = ""
      }
    }

    private var isSkipped: Bool { open.contains("Overview") || open.contains("Metadata") }

    /// Where the element `MaskBand` is in the open elements: 1 in the VRT, 2 in a band.
    private var maskDepth: Int? { open.firstIndex(of: "MaskBand") }

    private var isInBand: Bool { open.contains("VRTRasterBand") }

    /// The depth of the innermost element, in a mask as in a band beside it.
    private var depth: Int { open.count - (maskDepth ?? 0) }

    /// Changes the band, or the mask, whose element is open.
    private mutating func withBand(_ change: (inout Band) -> Void) {
      if maskDepth != nil {
        if !masks.isEmpty { change(&masks[masks.count - 1]) }
      } else {
        change(&bands[bands.count - 1])
      }
    }

    private mutating func begin(_ name: String, _ attributes: [String: String]) throws {
      guard !isSkipped else { return }
      switch (name, depth) {
      case ("VRTDataset", 1):
        if let kind = attributes["subClass"] { throw refused("subClass \(kind)") }
        width = attributes["rasterXSize"].flatMap { Int($0) }
        height = attributes["rasterYSize"].flatMap { Int($0) }
      case ("MaskBand", 1): if isInBand { bandMaskCount += 1 }
      case (_, 1): throw damaged("is no VRT: it begins with <\(name)>")
      case ("VRTRasterBand", 2):
        if let kind = attributes["subClass"], kind != "VRTSourcedRasterBand" { throw refused("subClass \(kind)") }
        guard bands.count < 65535, masks.count < 65535 else { throw damaged("has too many bands") }
        if maskDepth != nil { masks.append(Band()) } else { bands.append(Band()) }
      case ("GCPList", 2): pointProjection = attributes["Projection"].flatMap { $0.isEmpty ? nil : $0 }
      case ("GCP", 3):
        guard let point = GroundControlPoint(attributes: attributes) else {
          throw damaged("has a damaged ground control point")
        }
        points.append(point)
      case ("SimpleSource", 3) where isInBand, ("ComplexSource", 3) where isInBand: source = Source()
      case ("ColorTable", 3) where isInBand: withBand { $0.colourTable = ColourTable() }
      case ("Entry", 4) where isInBand && open[open.count - 2] == "ColorTable":
        withBand { $0.colourTable?.add(attributes) }
      case ("SourceFilename", 4): isRelative = attributes["relativeToVRT"] == "1"
      case ("SrcRect", 4):
        let part = try rect(attributes)
        source?.from = part
      case ("DstRect", 4):
        let part = try rect(attributes)
        source?.to = part
      default: break
      }
    }

    private mutating func end(_ name: String) throws {
      guard !isSkipped else { return }
      let word = String(text.drop { $0.isWhitespace }.reversed().drop { $0.isWhitespace }.reversed())
      switch (name, depth) {
      case ("SRS", 2): projection = word.isEmpty ? nil : word
      case ("SRS", 3) where open[1] == "GCPList": pointProjection = word.isEmpty ? nil : word
      case ("GeoTransform", 2):
        let numbers = word.split(separator: ",").compactMap { Double($0.filter { !$0.isWhitespace }) }
        guard numbers.count == 6, numbers.allSatisfy(\.isFinite) else { throw damaged("has a damaged GeoTransform") }
        transform = numbers
      case ("NoDataValue", 3) where isInBand: withBand { $0.nodata = NodataValue.parse(word) }
      case ("ColorInterp", 3) where isInBand: withBand { $0.interpretation = word.lowercased() }
      case ("SimpleSource", 3) where isInBand, ("ComplexSource", 3) where isInBand: try finishSource()
      case ("SourceFilename", 4):
        let file = resolved(word)
        source?.file = file
      case ("SourceBand", 4):
        // The number of a band, "mask", or "mask," and the number.
        let parts = word.split(separator: ",", omittingEmptySubsequences: false)
        let isMask = parts.first == "mask"
        let number = isMask && parts.count == 1 ? "1" : parts[isMask ? 1 : 0]
        guard parts.count <= (isMask ? 2 : 1), let band = Int(number), band >= 1 else {
          throw refused("the source band '\(word)'")
        }
        source?.band = band
        source?.isMask = isMask
      case ("NODATA", 4): source?.nodata = NodataValue.parse(word)
      case ("ScaleOffset", 4): source?.constant = Double(word)
      case ("ScaleRatio", 4): source?.ratio = Double(word) ?? 1
      default: break
      }
    }

    private mutating func finishSource() throws {
      guard var source else { return }
      guard !source.file.isEmpty else { throw damaged("has a source without a file") }
      let isScaled = source.ratio != 1 || (source.constant ?? 0) != 0
      guard !isScaled || source.ratio == 0 else { throw refused("scaled values") }
      if source.ratio != 0 { source.constant = nil }
      withBand { [source] in $0.sources.append(source) }
      self.source = nil
    }

    private func rect(_ attributes: [String: String]) throws -> Rect {
      let numbers = ["xOff", "yOff", "xSize", "ySize"].compactMap { attributes[$0].flatMap { Double($0) } }
      guard numbers.count == 4, numbers.allSatisfy({ abs($0) < 1e10 }), numbers[2] > 0, numbers[3] > 0 else {
        throw damaged("has a damaged rectangle")
      }
      return Rect(x: numbers[0], y: numbers[1], width: numbers[2], height: numbers[3])
    }

    private func resolved(_ file: String) -> String {
      guard isRelative, !file.hasPrefix("/"), folder != "." else { return file }
      return folder == "/" ? "/\(file)" : "\(folder)/\(file)"
    }
  }
}
