import CLibFuzzer
import Foundation
import RegionCatalog
import TileCut
import TileImage
import TileIndex

/// libFuzzer on the readers of rasters, of the files beside them, and of what is drawn over them: `RasterFuzz KIND
/// CORPUS [libFuzzer's options]`, or `RasterFuzz KIND FILE`.
///
/// Seeds are written into the corpus first. Each input becomes a file in memory, is opened with several options, and
/// parts of it are read.
@main
struct RasterFuzz {
  enum Kind: String, CaseIterable {
    case tiff, png, jpeg, webp, jpeg2000, geokeys, vrt, aux, overviews, mask, worldfile, geojson, gpx
  }

  nonisolated(unsafe) private static var kind = Kind.tiff
  nonisolated(unsafe) private static var folder = ""

  static func main() throws {
    var arguments = CommandLine.arguments
    guard arguments.count > 2, let kind = Kind(rawValue: arguments[1]) else {
      let kinds = Kind.allCases.map(\.rawValue).joined(separator: "|")
      FileHandle.standardError.write(Data("usage: RasterFuzz \(kinds) CORPUS [options]\n".utf8))
      exit(64)
    }
    let corpus = URL(fileURLWithPath: arguments[2])
    if (try? FileManager.default.contentsOfDirectory(atPath: corpus.path)) != nil {
      for (number, seed) in seeds(kind).enumerated() {
        try Data(seed).write(to: corpus.appendingPathComponent("seed-\(number)"))
      }
    }
    Self.kind = kind
    let memory = FileManager.default.fileExists(atPath: "/dev/shm") ? "/dev/shm" : NSTemporaryDirectory()
    folder = "\(memory)/raster-fuzz-\(ProcessInfo.processInfo.processIdentifier)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    atexit { try? FileManager.default.removeItem(atPath: RasterFuzz.folder) }
    try Data(RasterSeeds.tiffs[0]).write(to: URL(fileURLWithPath: folder + "/part.tif"))
    arguments.remove(at: 1)
    // libFuzzer keeps the arguments until the process ends.
    var count = CInt(arguments.count)
    let list = UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>.allocate(capacity: arguments.count + 1)
    for (index, argument) in arguments.enumerated() { list[index] = strdup(argument) }
    list[arguments.count] = nil
    var pointer: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = list
    exit(
      LLVMFuzzerRunDriver(&count, &pointer) { data, size in
        RasterFuzz.take(Array(UnsafeBufferPointer(start: data, count: size)))
        return 0
      })
  }

  private static func take(_ bytes: [UInt8]) {
    switch kind {
    case .geokeys: read(geoTIFF(bytes), "map.tif")
    case .aux:
      write(bytes, "part.tif.aux.xml")
      open("part.tif")
    case .overviews:
      write(bytes, "part.tif.ovr")
      open("part.tif")
    case .mask:
      write(bytes, "part.tif.msk")
      open("part.tif")
    case .worldfile:
      write(bytes, "part.tfw")
      open("part.tif", crs: CoordinateReferenceSystem.wgs84LongLat)
    case .geojson, .gpx:
      let name = kind == .gpx ? "lines.gpx" : "lines.geojson"
      write(bytes, name)
      features(name)
    case .vrt: read(bytes, "map.vrt")
    case .tiff: read(bytes, "map.tif")
    case .png: read(bytes, "map.png")
    case .jpeg: read(bytes, "map.jpg")
    case .webp: read(bytes, "map.webp")
    case .jpeg2000: read(bytes, "map.jp2")
    }
  }

  private static func read(_ bytes: [UInt8], _ name: String) {
    write(bytes, name)
    open(name)
  }

  private static func write(_ bytes: [UInt8], _ name: String) {
    try? Data(bytes).write(to: URL(fileURLWithPath: "\(folder)/\(name)"))
  }

  /// Refusals are what is expected; a trap, a hang or memory without bounds is what libFuzzer looks for.
  private static func open(_ name: String, crs: CoordinateReferenceSystem? = nil) {
    for isFlat in [true, false] {
      var options = RasterOpenOptions(crs: isFlat ? nil : crs, cacheBytesMax: 4 << 20, scratchDirectory: folder)
      options.isFlat = isFlat
      if isFlat { options.scale = try? SampleScale(low: 0, high: 1000) }
      guard let source = try? RasterFile.open(path: "\(folder)/\(name)", options: options) else { continue }
      read(source)
      if let overview = try? source.overview(factorMax: 8) { read(overview) }
    }
  }

  /// Reads features as layers and, of GeoJSON, polygons as an area to clip to.
  private static func features(_ name: String) {
    let path = "\(folder)/\(name)"
    try? FeatureFile.read(path: path, properties: ["name"]) { _ in }
    guard kind == .geojson, let area = try? RegionBoundary(file: path) else { return }
    _ = area.tiles(zoom: 6, in: .webMercatorQuad)
  }

  /// Reads the corners.
  private static func read(_ source: any RasterSource) {
    let (width, height) = (min(source.width, 64), min(source.height, 64))
    let memory = UnsafeMutableRawPointer.allocate(byteCount: width * height * 4, alignment: 16)
    defer { memory.deallocate() }
    for (x, y) in [(0, 0), (source.width - width, source.height - height)] {
      let window = PixelRect(x: x, y: y, width: width, height: height)
      _ = try? source.read(window, into: memory, rowBytes: width * 4)
    }
  }

  /// Divides the input: how many keys, the keys, then numbers and text.
  private static func geoTIFF(_ bytes: [UInt8]) -> [UInt8] {
    let keyCount = min(Int(bytes.first ?? 0), max(0, bytes.count - 1) / 2)
    var keys: [Int] = []
    for i in 0..<keyCount { keys.append(Int(bytes[1 + 2 * i]) + 256 * Int(bytes[2 + 2 * i])) }
    let rest = Array(bytes.dropFirst(1 + 2 * keyCount))
    var numbers: [Double] = []
    for i in 0..<min(rest.count / 8, 30) {
      var bits: UInt64 = 0
      for byte in rest[8 * i..<8 * i + 8].reversed() { bits = bits << 8 | UInt64(byte) }
      numbers.append(Double(bitPattern: bits))
    }
    let text = Array(rest.dropFirst(8 * numbers.count)).filter { $0 != 0 }
    return RasterSeeds.geoTIFF(
      keys: keys, doubles: Array(numbers.dropFirst(9)), text: text, place: Array(numbers.prefix(9)))
  }

  private static func seeds(_ kind: Kind) -> [[UInt8]] {
    switch kind {
    case .tiff: return RasterSeeds.tiffs + realFiles(".tif")
    case .png: return RasterSeeds.images([.png(PNGOptions())]) + realFiles(".png")
    case .jpeg: return RasterSeeds.images([.jpeg(JPEGOptions(quality: 80))])
    case .webp:
      return RasterSeeds.images([.webp(WebPOptions()), .webp(WebPOptions(lossless: false, quality: 70))])
    case .jpeg2000: return [RasterSeeds.jpeg2000]
    case .vrt: return RasterSeeds.vrts
    case .aux: return RasterSeeds.auxiliary
    case .overviews: return RasterSeeds.reducedTIFFs
    case .mask: return Array(RasterSeeds.tiffs.prefix(1)) + RasterSeeds.reducedTIFFs
    case .worldfile: return [Array("0.1\n0\n0\n-0.1\n10.05\n49,95\n".utf8)]
    case .geojson: return RasterSeeds.geoJSON + realFiles(".geojson")
    case .gpx: return RasterSeeds.gpx
    case .geokeys:
      let place: [Double] = [0.1, 0.1, 0, 0, 0, 0, 10, 50, 0]
      func seed(_ keys: [Int], _ doubles: [Double], _ text: String) -> [UInt8] {
        [UInt8(keys.count)] + keys.flatMap { [UInt8($0 & 255), UInt8($0 >> 8)] }
          + (place + doubles).flatMap(\.littleEndianBytes) + Array(text.utf8)
      }
      // WGS 84 as a code; a projection by its parameters.
      return [
        seed([1, 1, 0, 3, 1024, 0, 1, 2, 1025, 0, 1, 1, 2048, 0, 1, 4326], [], ""),
        seed(
          [
            1, 1, 0, 6, 1024, 0, 1, 1, 3072, 0, 1, 32767, 3074, 0, 1, 32767, 3075, 0, 1, 8, 3078, 34736, 1, 0, 3079,
            34736, 1, 1,
          ], [29.5, 45.5], "Albers|"),
      ]
    }
  }

  /// Small real and malformed files where the optional data is.
  private static func realFiles(_ suffix: String) -> [[UInt8]] {
    guard let data = ProcessInfo.processInfo.environment["MAP_TEST_DATA"] else { return [] }
    let files = FileManager.default.enumerator(atPath: "\(data)/maps")?.compactMap { $0 as? String } ?? []
    return files.filter { $0.hasSuffix(suffix) }
      .compactMap { FileManager.default.contents(atPath: "\(data)/maps/\($0)") }
      .filter { $0.count < 8192 }.map { [UInt8]($0) }
  }
}
