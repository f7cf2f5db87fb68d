import Crypto
import MapStoreWire
import Support
import TileIndex

/// What is on the shelf and which of it is for sale, at one moment: never changed, replaced as a whole.
final class ShelfView: Sendable {
  /// A file of the shelf and the region it belongs to.
  struct FilePlace: Sendable {
    let region: Int
    let kind: DownloadRequest.Kind
    let file: Catalogue.File
  }

  let regions: [Catalogue.Region]
  let isForSale: [Bool]
  let listings: [RegionListing]
  /// Of what everybody sees.
  let etag: String
  private let indexByID: [String: Int]
  private let indexByProduct: [String: Int]
  private let files: [String: FilePlace]
  private let parcelIndexes: [ParcelIndex?]
  /// Answers that everybody gets alike; they go when the shelf changes.
  let replies = ReplyCache<String>(bytesMax: 16 << 20, ofOneMax: 4 << 20)
  /// Libraries by what makes them differ, so that they need no watching of the ledger, and accounts that own the same share one. Of a shelf of 170 regions one takes 40 kB.
  let libraries = ReplyCache<LibraryQuestion>(bytesMax: 16 << 20, ofOneMax: 256 << 10)
  let libraryText: LibraryText
  let searchTexts: [SearchText]
  let places: PlaceDirectory
  /// Whether there is a bundle that can be given out; also where there are no regions.
  let hasBundles: Bool

  /// - Parameters:
  ///   - products: nil when all is for sale.
  ///   - places: of the catalogue's bundles.
  ///   - faults: files that are not as the catalogue says: what has them as its bundle is not sold.
  init(
    _ catalogue: Catalogue, products: ProductStates?, places: PlaceDirectory, faults: [String: ShelfFiles.Fault] = [:]
  ) {
    self.places = places
    regions = catalogue.regions
    isForSale = regions.map { (products?.isReady($0.productId) ?? true) && faults[$0.file] == nil }
    hasBundles = regions.isEmpty || regions.contains { faults[$0.file] == nil }
    listings = regions.map(RegionListing.init)
    searchTexts = regions.map(SearchText.init)
    indexByID = Dictionary(regions.enumerated().map { ($1.id, $0) }, uniquingKeysWith: { first, _ in first })
    indexByProduct = Dictionary(
      regions.enumerated().map { ($1.productId, $0) }, uniquingKeysWith: { first, _ in first })
    var files: [String: FilePlace] = [:]
    for (index, region) in regions.enumerated() {
      func add(_ kind: DownloadRequest.Kind, _ name: String, _ bytes: Int, _ sha256: String) {
        files[name] = FilePlace(
          region: index, kind: kind, file: Catalogue.File(file: name, bytes: bytes, sha256: sha256))
      }
      add(.bundle, region.file, region.bytes, region.sha256)
      for parcel in region.parcels { add(.parcel, parcel.file, parcel.bytes, parcel.sha256) }
      for patch in region.patches { add(.patch, patch.file, patch.bytes, patch.sha256) }
    }
    self.files = files
    parcelIndexes = regions.map { $0.parcels.isEmpty ? nil : ParcelIndex($0) }
    var hash = SHA256()
    hash.update(data: catalogue.bytes)
    hash.update(data: isForSale.map { $0 ? 1 : 0 })
    etag = Hexadecimal.text(hash.finalize().prefix(16))
    libraryText = LibraryText(regions, isForSale: isForSale)
  }

  func index(of id: String) -> Int? { indexByID[id] }
  func index(ofProduct product: String) -> Int? { indexByProduct[product] }
  func file(named name: String) -> FilePlace? { files[name] }
  func parcelIndex(of region: Int) -> ParcelIndex? { parcelIndexes[region] }
}

extension RegionListing {
  fileprivate init(_ region: Catalogue.Region) {
    self.init(
      id: region.id, productId: region.productId, title: region.title, category: region.category,
      description: region.description, bounds: region.bounds, boundary: region.boundary, minzoom: region.minzoom,
      maxzoom: region.maxzoom, edition: region.edition, bytes: region.bytes, priceTier: region.priceTier,
      attribution: region.attribution, parcels: region.parcels.count,
      preview: region.preview.map { _ in StoreRoute.preview.path(region.id) })
    previewBounds = region.preview == nil ? nil : region.previewBounds
  }
}

/// A region's own words as searches compare them: lower case, without marks on letters.
struct SearchText: Sendable {
  /// Each word behind a space.
  private let text: String

  init(_ region: Catalogue.Region) {
    let texts = [region.id, region.title, region.category, region.description ?? ""]
    text = PlaceQuery.words(of: PlaceQuery.plain(texts.joined(separator: "\n"))).reduce(into: "") { $0 += " " + $1 }
  }

  /// Whether one of its words begins so.
  func hasBeginning(_ word: String) -> Bool { text.contains(" " + word) }

  func contains(_ word: String) -> Bool { text.contains(word) }
}
