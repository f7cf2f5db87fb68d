public import RegionCatalog
public import Support
public import TileIndex

/// A publisher's list of regions: sources, settings and descriptions. Stored as JSON (`regions.json`); see
/// docs/reference/region-manifest.md.
public struct RegionManifest: Sendable {
  /// A map that is cut and sold as a whole, with defaults and category settings applied.
  public struct Region: Sendable {
    /// Short, stable name; letters, digits, dots, dashes and underscores, since it is part of file names and URLs.
    public let id: String
    /// The product id in the stores; by default the id.
    public let productID: String
    /// Ids that the region had before.
    public let formerIDs: [String]
    /// Products that the region was sold as before.
    public let formerProductIDs: [String]
    /// The title for customers.
    public let title: String
    /// The category: continental, state, park, recreation area, city, ...
    public let category: String
    /// What the map shows, for people.
    public let description: String?
    /// WGS 84 degrees; `west` greater than `east` crosses the antimeridian. Nil for the extent of the sources.
    public let bounds: BoundingBox?
    /// The outline; tiles that do not intersect it are left out, and with ``RegionSettings/clip`` all pixels outside.
    public let boundary: RegionBoundary?
    /// How the region is cut.
    public let settings: RegionSettings

    /// The bounds of a region across the antimeridian, with a west greater than the east; nil for all others. MBTiles
    /// metadata cannot express them (west < east).
    package var boundsAcrossAntimeridian: BoundingBox? {
      guard let bounds else { return boundary?.boundsAcrossAntimeridian }
      return bounds.west > bounds.east ? bounds : nil
    }

    package var names: RegionNames {
      RegionNames(id: id, productID: productID, formerIDs: formerIDs, formerProductIDs: formerProductIDs)
    }
  }

  /// The manifest's own path.
  public let path: String
  /// In the order of the document, which is that of the catalogue.
  public let regions: [Region]

  /// The folder that the manifest's paths are relative to; empty for the working directory.
  public var folder: String { path.lastIndex(of: "/").map { String(path[..<$0]) + "/" } ?? "" }

  /// A path of the manifest, relative to the working directory.
  public func resolved(_ file: String) -> String { file.hasPrefix("/") ? file : folder + file }
}

/// Settings that may be given in `defaults`, in a category or in the region itself; the more specific one wins.
public struct RegionSettings: Sendable {
  /// The containers of bundles: files, which a catalogue can list by their hash.
  public static let containers: [BundleFile.Kind] = [.mbtiles, .pmtiles, .geopackage]

  /// The preview image for the shop.
  public struct Preview: Hashable, Sendable {
    /// WGS 84 degrees; by default the region's.
    public var bounds: BoundingBox?
    /// The zoom of its pixels; by default the one that shows all of the bounds.
    public var zoom: Int?
    /// Pixels; 512 unless a zoom or height is given.
    public var width: Int?
    /// Pixels; by default follows from the width and the bounds.
    public var height: Int?

    /// A picture; what is nil follows from the region.
    public init(bounds: BoundingBox? = nil, zoom: Int? = nil, width: Int? = nil, height: Int? = nil) {
      (self.bounds, self.zoom, self.width, self.height) = (bounds, zoom, width, height)
    }
  }

  /// How the region is cut, but for its names, bounds and boundary. Files are relative to the manifest.
  public var cut = CutOptions(sources: [])
  /// Whether pixels outside the region's boundary are transparent.
  public var clip = false
  /// Metres by which the boundary grows before it clips.
  public var buffer = 0.0
  /// The bundle's container, one of ``containers``. Devices install MBTiles alone.
  public var container = BundleFile.Kind.mbtiles
  /// The edition; part of file names.
  public var edition = "1"
  /// The price tier, as the stores name it.
  public var priceTier: String?
  /// The picture of the region in the catalogue.
  public var preview = Preview()
  /// Gazetteers (lists of places); relative to the manifest.
  public var gazetteers: [String] = []
  /// The maximum bytes of a tile pack; nil for regions that are not split.
  public var packBytesMax: Int?

  /// The defaults of a manifest.
  public init() {}
}

/// All errors of a manifest, reported together.
public struct ManifestError: ToolkitError {
  /// The kind of failure, for programs; new kinds may be added.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    public let description: String
    package init(_ description: String) { self.description = description }

    /// There is no such file, or it may not be read.
    public static let unreadable = Code("unreadable manifest")
    /// It is not JSON, or violates the format.
    public static let malformed = Code("malformed manifest")
  }

  /// One error.
  public struct Fault: Hashable, Sendable, CustomStringConvertible {
    /// The manifest, or another file that it refers to.
    public let path: String
    /// The position in the document, such as `regions[3].id`; empty for the whole.
    public let place: String
    /// What is wrong; starts in lower case.
    public let message: String
    /// What to do about it; begins in lower case.
    public let remedy: String

    package init(path: String, place: String, message: String, remedy: String) {
      (self.path, self.place, self.message, self.remedy) = (path, place, message, remedy)
    }

    /// `path: place message; remedy`
    public var description: String { "\(path): \(what); \(remedy)" }
    /// `place message`
    fileprivate var what: String { place.isEmpty ? message : "\(place) \(message)" }
  }

  /// The kind of failure.
  public let code: Code
  /// In the order of the document; never empty.
  public let faults: [Fault]

  package init(_ code: Code, _ faults: [Fault]) { (self.code, self.faults) = (code, faults) }

  package init(_ code: Code, path: String, place: String = "", _ message: String, remedy: String) {
    self.init(code, [Fault(path: path, place: place, message: message, remedy: remedy)])
  }

  /// One line for each error.
  public var description: String { lines(\.description) }
  /// What is wrong, a line for each error.
  public var message: String { lines(\.what) }
  /// What to do about each, on a line.
  public var remedy: String? { lines(\.remedy) }
  /// A sentence for people on each error, with the name of the file; each on a line.
  public var errorDescription: String? { lines { Sentence.of(file: $0.path, $0.what) } }
  /// What to do about each; each on a line.
  public var recoverySuggestion: String? { lines { Sentence.of($0.remedy) } }

  private func lines(_ text: (Fault) -> String) -> String { faults.map(text).joined(separator: "\n") }
}
