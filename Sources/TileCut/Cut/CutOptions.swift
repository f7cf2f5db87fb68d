import Foundation
public import RegionCatalog
public import TileImage
public import TileIndex

/// What to cut and how it should look. Everything in it can change the bundle's bytes; see ``CutResources`` for what cannot.
public struct CutOptions: Sendable {
  /// Paths of GeoTIFF, PNG or JPEG files, drawn in this order: later ones over earlier ones.
  public var sources: [String]
  public var matrixSet: TileMatrixSet = .webMercatorQuad
  public var zoom: ZoomSelection = .native
  /// WGS 84 degrees. Places a source that has no georeference; cuts off any other. `west` greater than `east` means across the antimeridian.
  public var bounds: BoundingBox?
  /// True for a picture that lies nowhere on Earth: its pixels are cut as they are, whatever it says of its place.
  public var isFlat = false
  public var encoding: TileEncoding = .png(PNGOptions())
  public var resampling: Resampling = .bilinear
  /// The sources' coordinate reference system, over whatever the files say: `EPSG:n`, WKT, a PROJ string.
  public var crs: String?
  /// Value that means "no data", one for all bands or one for each, in the source's own units; over what the files say.
  public var nodata: [Double]?
  /// For sources of more than 8 bits: the values that become 0 and 255; `low` may be the larger one, which inverts.
  public var scale: (low: Double, high: Double)?

  /// The tileset's name; the first source's file name without extension when nil.
  public var name: String?
  public var attribution: String?
  public var description: String?
  /// Whether the tileset is drawn over others or below them.
  public var type: BundleMetadata.Kind = .baselayer
  /// The tileset's own version.
  public var version: String = "1"
  /// What can be looked for on the map. Those outside its bounds are left out.
  public var places: [Place] = []
  /// Outline of the region; tiles that do not touch it are left out.
  public var boundary: RegionBoundary?
  /// More rows for the metadata.
  public var extraMetadata: [String: String] = [:]

  public init(sources: [String]) {
    self.sources = sources
  }
}

/// What a cut may use. The bundle's bytes do not depend on it.
public struct CutResources: Hashable, Sendable {
  /// Worker threads, at most: fewer work where the memory would not do for so many.
  public let threads: Int
  /// Budget for decoded pixels and tiles under way, in bytes.
  public let memoryBytes: Int

  /// - Parameters:
  ///   - threads: as many as the machine has cores when nil.
  ///   - memoryBytes: 256 MB unless given; at least 32 MB are used.
  public init(threads: Int? = nil, memoryBytes: Int = 256_000_000) {
    self.threads = max(threads ?? ProcessInfo.processInfo.activeProcessorCount, 1)
    self.memoryBytes = max(memoryBytes, 32_000_000)
  }
  /// What a worker takes for its window, tiles, units under way and the libraries' own needs.
  private static let workerBytes = 9_000_000

  /// The threads that the memory is enough for: a quarter of it is left for decoded blocks.
  var workers: Int { min(threads, max(memoryBytes * 3 / 4 / Self.workerBytes, 1)) }

  /// The share of decoded source blocks: half, less where many workers need more than the other half.
  var cacheBytes: Int {
    min(max(memoryBytes - workers * Self.workerBytes, memoryBytes / 8), memoryBytes / 2)
  }
}

extension CutOptions {
  /// Refuses encodings that the codecs would not take, and what says where a flat image lies.
  func check() throws {
    if isFlat, bounds != nil || crs != nil || matrixSet != .webMercatorQuad || sources.count != 1 {
      throw CutError(
        .invalidOption, "a flat image has no place on Earth",
        remedy: "leave --bounds, --crs, --matrix and further sources out, or --flat")
    }
    switch encoding {
    case .jpeg(let jpeg) where !(1...100).contains(jpeg.quality):
      throw CutError(.invalidOption, "there is no JPEG quality \(jpeg.quality)", remedy: "choose one from 1 to 100")
    case .png(let png) where !(1...12).contains(png.compressionLevel ?? 1):
      throw CutError(
        .invalidOption, "there is no compression level \(png.compressionLevel ?? 0)", remedy: "choose one from 1 to 12")
    case .webp(let webp) where !(1...100).contains(webp.quality) || !(0...9).contains(webp.effort):
      throw CutError(
        .invalidOption, "there is no WebP quality \(webp.quality) with effort \(webp.effort)",
        remedy: "choose a quality from 1 to 100 and an effort from 0 to 9")
    default: break
    }
  }
}
