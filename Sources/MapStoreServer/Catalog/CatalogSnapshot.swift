import Crypto
import MapStoreWire
import RegionCatalog
import Support
import Synchronization
import TileIndex

/// The catalogue and which regions are for sale, at one moment. Immutable; replaced as a whole.
final class CatalogSnapshot: Sendable {
  /// A file of the catalogue and the region that it belongs to.
  struct FilePlace: Sendable {
    let region: Int
    let kind: DownloadRequest.Kind
    let file: Catalog.File
  }

  let regions: [Catalog.Region]
  let isForSale: [Bool]
  let listings: [RegionListing]
  let listingTexts: ListingTexts
  /// A hash of the public contents.
  let etag: String
  /// By present and former ids.
  private let indexByID: [String: Int]
  /// By present and former products; hand-made catalogues may have several regions of one.
  private let indicesByProduct: [String: [Int]]
  private let files: [String: FilePlace]
  private let packIndexes: [TilePackIndex?]
  /// Public answers; dropped with the snapshot.
  let replies = ReplyCache<String>(bytesMax: 16 << 20, ofOneMax: 4 << 20)
  /// Libraries by their contents, so that the ledger need not be watched, and accounts that own the same regions share
  /// one. A library of 170 regions takes 40 kB.
  let libraries = ReplyCache<LibraryKey>(bytesMax: 64 << 20, ofOneMax: 256 << 10)
  let libraryWriter: LibraryWriter
  let searchTexts: [SearchText]
  let outlines: [RegionOutline]
  let places: PlaceDirectory
  /// Whether any bundle can be downloaded; true for an empty catalogue.
  let hasBundles: Bool

  /// - Parameters:
  ///   - products: nil if all regions are for sale.
  ///   - places: of the catalogue's bundles.
  ///   - faults: files that do not match the catalogue; regions with such a bundle are not for sale, nor are those that
  ///     no device installs.
  init(
    _ catalogue: Catalog, products: ProductStates?, places: PlaceDirectory,
    faults: [String: CatalogFileVerifier.Fault] = [:]
  ) {
    self.places = places
    regions = catalogue.regions
    isForSale = regions.map { region in
      (products?.isReady(region.productId) ?? true) && region.isInstallable && faults[region.file] == nil
    }
    hasBundles = regions.isEmpty || regions.contains { $0.isInstallable && faults[$0.file] == nil }
    listings = regions.map(RegionListing.init)
    listingTexts = ListingTexts(listings)
    searchTexts = regions.map(SearchText.init)
    outlines = regions.map(RegionOutline.init)
    let names = regions.map(\.names).enumerated()
    indexByID = Dictionary(
      names.flatMap { index, names in names.ids.map { ($0, index) } }, uniquingKeysWith: { first, _ in first })
    indicesByProduct = Dictionary(
      names.flatMap { index, names in names.products.map { ($0, [index]) } }, uniquingKeysWith: { $0 + $1 })
    var files: [String: FilePlace] = [:]
    for (index, region) in regions.enumerated() {
      func add(_ kind: DownloadRequest.Kind, _ name: String, _ bytes: Int, _ sha256: String) {
        files[name] = FilePlace(
          region: index, kind: kind, file: Catalog.File(file: name, bytes: bytes, sha256: sha256))
      }
      add(.bundle, region.file, region.bytes, region.sha256)
      for pack in region.packs { add(.pack, pack.file, pack.bytes, pack.sha256) }
      for patch in region.patches { add(.patch, patch.file, patch.bytes, patch.sha256) }
    }
    self.files = files
    packIndexes = regions.map { $0.packs.isEmpty ? nil : TilePackIndex($0) }
    var hash = SHA256()
    hash.update(data: catalogue.bytes)
    hash.update(data: isForSale.map { $0 ? 1 : 0 })
    etag = Hexadecimal.text(hash.finalize().prefix(16))
    libraryWriter = LibraryWriter(regions, isForSale: isForSale)
  }

  /// The region of a present or former id.
  func index(of id: String) -> Int? { indexByID[id] }
  /// The regions that the owner of a product owns, in the order of the catalogue.
  func indices(ofProduct product: String) -> [Int] { indicesByProduct[product] ?? [] }
  /// All present and former products.
  var products: some Collection<String> { indicesByProduct.keys }
  func file(named name: String) -> FilePlace? { files[name] }
  func packIndex(of region: Int) -> TilePackIndex? { packIndexes[region] }
}

/// The listings as JSON. Each is encoded when it is first asked for: outlines have thousands of numbers.
final class ListingTexts: Sendable {
  private let listings: [RegionListing]
  private let texts: Mutex<[[UInt8]?]>

  init(_ listings: [RegionListing]) {
    self.listings = listings
    texts = Mutex(Array(repeating: nil, count: listings.count))
  }

  func text(_ index: Int) -> [UInt8] {
    if let known = texts.withLock({ $0[index] }) { return known }
    // Numbers of a catalogue are finite, so encoding does not fail.
    let text = (try? WireJSON.encode(listings[index])) ?? Array("{}".utf8)
    texts.withLock { $0[index] = text }
    return text
  }
}

extension RegionListing {
  fileprivate init(_ region: Catalog.Region) {
    self.init(
      id: region.id, productId: region.productId, title: region.title, category: region.category,
      description: region.description, bounds: region.bounds, boundary: region.boundary, minzoom: region.minzoom,
      maxzoom: region.maxzoom, edition: region.edition, bytes: region.bytes, priceTier: region.priceTier,
      attribution: region.attribution, packs: region.packs.count,
      preview: region.preview.map { _ in StoreRoute.preview.path(region.id) })
    previewBounds = region.preview == nil ? nil : region.previewBounds
  }
}

/// The words of a region's texts in the form in which searches compare them: lower case, without diacritics.
struct SearchText: Sendable {
  /// Each word after a space.
  private let text: String

  init(_ region: Catalog.Region) {
    let texts = [region.id, region.title, region.category, region.description ?? ""]
    text = PlaceQuery.words(of: PlaceQuery.plain(texts.joined(separator: "\n"))).reduce(into: "") { $0 += " " + $1 }
  }

  /// Whether one of the words has the prefix.
  func hasBeginning(_ word: String) -> Bool { text.contains(" " + word) }

  func contains(_ word: String) -> Bool { text.contains(word) }
}
