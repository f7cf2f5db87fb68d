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
  /// By present and former products and bundles of them; hand-made catalogues may have several regions of one.
  private let indicesByProduct: [String: [Int]]
  /// What opens each region: its own products, present and former, then bundles.
  private let productsOpening: [[String]]
  /// The list of products; nil if all regions are for sale.
  let list: ProductList?
  /// Countries with prices of their own.
  let countries: Set<String>
  /// Regions that everybody with an account has.
  let isFree: [Bool]
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
    _ catalogue: Catalog, products: ProductList?, places: PlaceDirectory,
    faults: [String: CatalogFileVerifier.Fault] = [:]
  ) {
    self.places = places
    list = products
    countries = Set((products?.products ?? []).flatMap(\.countries.keys))
    regions = catalogue.regions
    let names = regions.map(\.names).enumerated()
    let indexByID = Dictionary(
      names.flatMap { index, names in names.ids.map { ($0, index) } }, uniquingKeysWith: { first, _ in first })
    let own = Dictionary(
      names.flatMap { index, names in names.products.map { ($0, [index]) } }, uniquingKeysWith: { $0 + $1 })
    let samples = Set((products?.samples ?? []).compactMap { indexByID[$0.id] })
    let isFree = regions.indices.map(samples.contains)
    var isSold = regions.map { products?.isReady($0.productId) ?? true }
    var (opening, opened) = (regions.map(\.names.products), own)
    for product in products?.products ?? [] where product.isBundle {
      let indices = products?.regions(openedBy: product, index: { indexByID[$0] }, own: { own[$0] ?? [] }) ?? []
      opened[product.id] = indices
      for index in indices {
        if product.isReady { isSold[index] = true }
        if !opening[index].contains(product.id) { opening[index].append(product.id) }
      }
    }
    let isForSale = regions.enumerated().map { index, region in
      (isSold[index] || isFree[index]) && region.isInstallable && faults[region.file] == nil
    }
    (self.indexByID, self.isFree, self.isForSale) = (indexByID, isFree, isForSale)
    (productsOpening, indicesByProduct) = (opening, opened)
    hasBundles = regions.isEmpty || regions.contains { $0.isInstallable && faults[$0.file] == nil }
    listings = zip(regions, isFree).map { region, isFree in
      var listing = RegionListing(region)
      listing.price = products?[region.productId]?.price
      listing.isFree = isFree ? true : nil
      return listing
    }
    listingTexts = ListingTexts(listings)
    searchTexts = regions.map(SearchText.init)
    outlines = regions.map(RegionOutline.init)
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
    hash.update(data: Array("\(products?.products ?? [])\(isFree)".utf8))
    etag = Hexadecimal.text(hash.finalize().prefix(16))
    libraryWriter = LibraryWriter(regions, isForSale: isForSale)
  }

  /// The region of a present or former id.
  func index(of id: String) -> Int? { indexByID[id] }
  /// The regions that the owner of a product owns, in the order of the catalogue.
  func indices(ofProduct product: String) -> [Int] { indicesByProduct[product] ?? [] }
  /// The products whose owners own a region: its own, present and former, and bundles.
  func products(opening index: Int) -> [String] { productsOpening[index] }
  /// The bundles on sale that have a region, in the order of the list.
  func bundles(with index: Int) -> [ProductList.Product] {
    (list?.products ?? []).filter { $0.isBundle && $0.isReady && productsOpening[index].contains($0.id) }
  }
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
    text = " " + PlaceWords.indexed(texts.joined(separator: " "))
  }

  /// Whether one of the words has the prefix.
  func hasBeginning(_ word: String) -> Bool { text.contains(" " + word) }

  func contains(_ word: String) -> Bool { text.contains(word) }
}
