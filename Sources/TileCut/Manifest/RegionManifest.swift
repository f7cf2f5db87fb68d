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
  package var folder: String { RelativePaths.prefix(of: path) }

  /// A path of the manifest, relative to the working directory.
  package func resolved(_ file: String) -> String { file.hasPrefix("/") ? file : folder + file }
}

/// Settings that may be given in `defaults`, in a category or in the region itself; the more specific one wins.
package struct RegionSettings: Sendable {
  /// The containers of bundles: files, which a catalogue can list by their hash.
  package static let containers: [BundleContainer] = [.mbtiles, .pmtiles, .geopackage]

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
  package var container = BundleContainer.mbtiles
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
