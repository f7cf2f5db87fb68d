package import RegionCatalog
import Support
package import TileIndex

/// A publisher's list of regions: sources, settings and descriptions. Stored as JSON (`regions.json`); see
/// docs/reference/region-manifest.md.
package struct RegionManifest: Sendable {
  /// A map that is cut and sold as a whole, with defaults and category settings applied.
  package struct Region: Sendable {
    /// Short, stable name; letters, digits, dots, dashes and underscores, since it is part of file names and URLs.
    package let id: String
    /// The product id in the stores; by default the id.
    package let productID: String
    /// Ids that the region had before.
    package let formerIDs: [String]
    /// Products that the region was sold as before.
    package let formerProductIDs: [String]
    /// The title for customers.
    package let title: String
    /// The category: continental, state, park, recreation area, city, ...
    package let category: String
    /// What the map shows, for people.
    package let description: String?
    /// WGS 84 degrees; `west` greater than `east` crosses the antimeridian. Nil for the extent of the sources.
    package let bounds: BoundingBox?
    /// The outline; tiles that do not intersect it are left out, and with ``RegionSettings/clip`` all pixels outside.
    package let boundary: RegionBoundary?
    /// How the region is cut.
    package let settings: RegionSettings

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
  package let path: String
  /// In the order of the document, which is that of the catalogue.
  package let regions: [Region]

  /// The folder that the manifest's paths are relative to; empty for the working directory.
  package var folder: String { path.lastIndex(of: "/").map { String(path[..<$0]) + "/" } ?? "" }

  /// A path of the manifest, relative to the working directory.
  package func resolved(_ file: String) -> String { file.hasPrefix("/") ? file : folder + file }
}

/// Settings that may be given in `defaults`, in a category or in the region itself; the more specific one wins.
package struct RegionSettings: Sendable {
  /// The containers of bundles: files, which a catalogue can list by their hash.
  package static let containers: [BundleFile.Kind] = [.mbtiles, .pmtiles, .geopackage]

  /// The preview image for the shop.
  package struct Preview: Hashable, Sendable {
    /// WGS 84 degrees; by default the region's.
    package var bounds: BoundingBox?
    /// The zoom of its pixels; by default the one that shows all of the bounds.
    package var zoom: Int?
    /// Pixels; 512 unless a zoom or height is given.
    package var width: Int?
    /// Pixels; by default follows from the width and the bounds.
    package var height: Int?

    /// A picture; what is nil follows from the region.
    package init(bounds: BoundingBox? = nil, zoom: Int? = nil, width: Int? = nil, height: Int? = nil) {
      (self.bounds, self.zoom, self.width, self.height) = (bounds, zoom, width, height)
    }
  }

  /// How the region is cut, but for its names, bounds and boundary. Files are relative to the manifest.
  package var cut = CutOptions(sources: [])
  /// Whether pixels outside the region's boundary are transparent.
  package var clip = false
  /// Metres by which the boundary grows before it clips.
  package var buffer = 0.0
  /// The bundle's container, one of ``containers``. Devices install MBTiles alone.
  package var container = BundleFile.Kind.mbtiles
  /// The edition; part of file names.
  package var edition = "1"
  /// The price tier, as the stores name it.
  package var priceTier: String?
  /// The picture of the region in the catalogue.
  package var preview = Preview()
  /// Gazetteers (lists of places); relative to the manifest.
  package var gazetteers: [String] = []
  /// The maximum bytes of a tile pack; nil for regions that are not split.
  package var packBytesMax: Int?

  /// The defaults of a manifest.
  package init() {}
}

/// All errors of a manifest, reported together.
package struct ManifestError: ToolkitError {
  /// The kind of failure, for programs; new kinds may be added.
  package struct Code: Hashable, Sendable, CustomStringConvertible {
    package let description: String
    package init(_ description: String) { self.description = description }

    /// There is no such file, or it may not be read.
    package static let unreadable = Code("unreadable manifest")
    /// It is not JSON, or violates the format.
    package static let malformed = Code("malformed manifest")
  }

  /// One error.
  package struct Fault: Hashable, Sendable, CustomStringConvertible {
    /// The manifest, or another file that it refers to.
    package let path: String
    /// The position in the document, such as `regions[3].id`; empty for the whole.
    package let place: String
    /// What is wrong; starts in lower case.
    package let message: String
    /// What to do about it; begins in lower case.
    package let remedy: String

    package init(path: String, place: String, message: String, remedy: String) {
      (self.path, self.place, self.message, self.remedy) = (path, place, message, remedy)
    }

    /// `path: place message; remedy`
    package var description: String { "\(path): \(what); \(remedy)" }
    /// `place message`
    fileprivate var what: String { place.isEmpty ? message : "\(place) \(message)" }
  }

  /// The kind of failure.
  package let code: Code
  /// In the order of the document; never empty.
  package let faults: [Fault]

  package init(_ code: Code, _ faults: [Fault]) { (self.code, self.faults) = (code, faults) }

  package init(_ code: Code, path: String, place: String = "", _ message: String, remedy: String) {
    self.init(code, [Fault(path: path, place: place, message: message, remedy: remedy)])
  }

  /// One line for each error.
  package var description: String { lines(\.description) }
  /// What is wrong, a line for each error.
  package var message: String { lines(\.what) }
  /// What to do about each, on a line.
  package var remedy: String? { lines(\.remedy) }
  /// A sentence for people on each error, with the name of the file; each on a line.
  package var errorDescription: String? { lines { Sentence.of(file: $0.path, $0.what) } }
  /// What to do about each; each on a line.
  package var recoverySuggestion: String? { lines { Sentence.of($0.remedy) } }

  private func lines(_ text: (Fault) -> String) -> String { faults.map(text).joined(separator: "\n") }
}
