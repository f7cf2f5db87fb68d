import Logging
import RegionCatalog
import Support
import Synchronization
import TileIndex

/// The folder of the catalogue and the list of products. Both are checked every second: new editions and retired
/// products need no restart, and a region whose bundle is missing is not for sale.
final class StoreCatalog: Sendable {
  let folder: String
  let files: CatalogFileVerifier
  private let products: String?
  private let logger: Logger

  /// What was read from the folder.
  private struct Contents {
    let catalogue: Catalog
    let products: ProductList?
    var places: PlaceDirectory

    func snapshot(_ faults: [String: CatalogFileVerifier.Fault]) -> CatalogSnapshot {
      CatalogSnapshot(catalogue, products: products, places: places, faults: faults)
    }
  }

  private struct State {
    var contents: Contents
    var faults: [String: CatalogFileVerifier.Fault]
    var snapshot: CatalogSnapshot
    var stamps: [FileStamp?]
    /// Why the current files cannot be read; the state is then that of the last readable ones.
    var failure: String?
  }

  private let state: Mutex<State>

  /// How long the start waits for hashes: enough to verify a small catalogue before anything is sold.
  private static let hashingSeconds = 2.0

  /// - Throws: `BundleError` or ``StoreError`` that names the file.
  init(folder: String, products: String?, logger: Logger, hashes: (any FileHashStore)? = nil) throws {
    (self.folder, self.products, self.logger) = (folder, products, logger)
    let stamps = Self.stamps(folder, products)
    let contents = try Self.load(folder, products, logger)
    files = CatalogFileVerifier(folder: folder, store: hashes)
    files.set(contents.catalogue.regions, hashingFor: Self.hashingSeconds)
    let faults = files.faults
    state = Mutex(State(contents: contents, faults: faults, snapshot: contents.snapshot(faults), stamps: stamps))
    log(faults, before: [:], contents.catalogue)
  }

  var snapshot: CatalogSnapshot { state.withLock { $0.snapshot } }
  var failure: String? { state.withLock { $0.failure } }

  func path(of file: String) -> String { "\(folder)/\(file)" }

  /// Reads files that were replaced. If they cannot be read, the last state stays, and they are tried again each time:
  /// a corrected permission does not change a file's stamp.
  func refresh() {
    // Stamps before contents, so that a change in between is seen the next time.
    let stamps = Self.stamps(folder, products)
    if state.withLock({ $0.stamps != stamps || $0.failure != nil }), reload(stamps) { return }
    // Also while the catalogue cannot be read: the files of the last one are still for sale.
    files.look()
    apply(files.faults)
  }

  /// - Returns: whether the files could be read.
  private func reload(_ stamps: [FileStamp?]) -> Bool {
    do {
      let contents = try Self.load(folder, products, logger)
      files.set(contents.catalogue.regions)
      let (faults, before) = (files.faults, state.withLock { $0.faults })
      let snapshot = contents.snapshot(faults)
      state.withLock { $0 = State(contents: contents, faults: faults, snapshot: snapshot, stamps: stamps) }
      logger.info("the catalogue has changed: \(snapshot.regions.count) regions")
      log(faults, before: before, contents.catalogue)
      return true
    } catch {
      let failure = "\(error)"
      let isNews = state.withLock { state in
        defer { (state.stamps, state.failure) = (stamps, failure) }
        return state.failure != failure
      }
      if isNews { logger.error("the catalogue has changed, but cannot be used; the last state is kept: \(failure)") }
      return false
    }
  }

  private func apply(_ faults: [String: CatalogFileVerifier.Fault]) {
    var (contents, before) = state.withLock { ($0.contents, $0.faults) }
    guard faults != before else { return }
    // No race: `refresh` is the only writer of the state, and runs on one queue.
    if contents.catalogue.regions.contains(where: { before[$0.file] != nil && faults[$0.file] == nil }) {
      // Bundles that were missing or damaged had no places in the index.
      contents.places = PlaceDirectory(contents.catalogue.regions, folder: folder, logger: logger)
    }
    let snapshot = contents.snapshot(faults)
    state.withLock { ($0.contents, $0.faults, $0.snapshot) = (contents, faults, snapshot) }
    log(faults, before: before, contents.catalogue)
  }

  /// The files that do not match the catalogue, and the consequence; in the words of the log.
  func faultTexts() -> [String] {
    let (contents, faults) = state.withLock { ($0.contents, $0.faults) }
    let bundles = Self.bundles(contents.catalogue)
    return faults.sorted { $0.key < $1.key }.map { Self.text($0.key, $0.value, bundles[$0.key]) }
  }

  private static func bundles(_ catalogue: Catalog) -> [String: String] {
    Dictionary(catalogue.regions.map { ($0.file, $0.id) }, uniquingKeysWith: { first, _ in first })
  }

  private static func text(_ file: String, _ fault: CatalogFileVerifier.Fault, _ region: String?) -> String {
    "\(file) \(fault)" + (region.map { "; \($0) is not sold" } ?? "; it is not given out")
  }

  private func log(
    _ faults: [String: CatalogFileVerifier.Fault], before: [String: CatalogFileVerifier.Fault], _ catalogue: Catalog
  ) {
    guard faults != before else { return }
    let bundles = Self.bundles(catalogue)
    for (file, fault) in faults.sorted(by: { $0.key < $1.key }) where before[file] != fault {
      logger.error(
        "\(folder)/\(Self.text(file, fault, bundles[file])); build the catalogue again, or copy it there whole")
    }
    let mended = before.keys.filter { faults[$0] == nil }.sorted()
    for file in mended where catalogue.regions.contains(where: { $0.file == file }) {
      logger.notice("\(folder)/\(file) is as the catalogue says again")
    }
  }

  private static func stamps(_ folder: String, _ products: String?) -> [FileStamp?] {
    [FileStamp("\(folder)/\(Catalog.fileName)"), products.flatMap { FileStamp($0) }]
  }

  private static func load(_ folder: String, _ products: String?, _ logger: Logger) throws -> Contents {
    let catalogue = try Catalog(path: "\(folder)/\(Catalog.fileName)")
    for region in catalogue.regions where !region.isInstallable {
      logger.notice("\(region.id) is not sold: \(region.file) is no MBTiles bundle, and devices install no other")
    }
    let list = try products.map { path in
      let list = try ProductList(path: path)
      try list.check(against: catalogue.regions, path: path)
      return list
    }
    return Contents(
      catalogue: catalogue, products: list,
      places: PlaceDirectory(catalogue.regions, folder: folder, logger: logger))
  }
}
