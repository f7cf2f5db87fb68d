import Logging
import Support
import Synchronization
import TileIndex

/// The shelf's folder and the list of products, as they are now: looked at again every second, so that a new edition or a retired product needs no restart, and a bundle that has gone is not
/// sold.
final class StoreShelf: Sendable {
  let folder: String
  let files: ShelfFiles
  private let products: String?
  private let logger: Logger

  /// What was read of the shelf.
  private struct Contents {
    let catalogue: Catalogue
    let products: ProductStates?
    var places: PlaceDirectory

    func view(_ faults: [String: ShelfFiles.Fault]) -> ShelfView {
      ShelfView(catalogue, products: products, places: places, faults: faults)
    }
  }

  private struct State {
    var contents: Contents
    var faults: [String: ShelfFiles.Fault]
    var view: ShelfView
    var stamps: [FileStamp?]
    /// Why what lies there now is not shown.
    var failure: String?
  }

  private let state: Mutex<State>

  /// How long the start waits for hashes: of a small shelf nothing is sold that is not whole.
  private static let hashingSeconds = 2.0

  /// - Throws: `BundleError` or ``StoreError`` that names the file.
  init(folder: String, products: String?, logger: Logger, memory: (any HashMemory)? = nil) throws {
    (self.folder, self.products, self.logger) = (folder, products, logger)
    let stamps = Self.stamps(folder, products)
    let contents = try Self.load(folder, products, logger)
    files = ShelfFiles(folder: folder, memory: memory)
    files.set(contents.catalogue.regions, hashingFor: Self.hashingSeconds)
    let faults = files.faults
    state = Mutex(State(contents: contents, faults: faults, view: contents.view(faults), stamps: stamps))
    log(faults, before: [:], contents.catalogue)
  }

  var view: ShelfView { state.withLock { $0.view } }
  var failure: String? { state.withLock { $0.failure } }

  func path(of file: String) -> String { "\(folder)/\(file)" }

  /// Reads what was replaced. What cannot be read leaves the last good state, and is tried again each time: a permission that was mended changes nothing of what is looked at.
  func refresh() {
    // Stamps before contents: a change in between is seen the next time.
    let stamps = Self.stamps(folder, products)
    if state.withLock({ $0.stamps != stamps || $0.failure != nil }), reload(stamps) { return }
    // Also while the catalogue cannot be read: what is sold on has to be there.
    files.look()
    apply(files.faults)
  }

  /// - Returns: whether what lies there now is shown.
  private func reload(_ stamps: [FileStamp?]) -> Bool {
    do {
      let contents = try Self.load(folder, products, logger)
      files.set(contents.catalogue.regions)
      let (faults, before) = (files.faults, state.withLock { $0.faults })
      let view = contents.view(faults)
      state.withLock { $0 = State(contents: contents, faults: faults, view: view, stamps: stamps) }
      logger.info("the shelf has changed: \(view.regions.count) regions")
      log(faults, before: before, contents.catalogue)
      return true
    } catch {
      let failure = "\(error)"
      let isNews = state.withLock { state in
        defer { (state.stamps, state.failure) = (stamps, failure) }
        return state.failure != failure
      }
      if isNews { logger.error("the shelf has changed, but cannot be used; the last state is kept: \(failure)") }
      return false
    }
  }

  private func apply(_ faults: [String: ShelfFiles.Fault]) {
    var (contents, before) = state.withLock { ($0.contents, $0.faults) }
    guard faults != before else { return }
    // Only who refreshes changes the state, and it does so by itself.
    if contents.catalogue.regions.contains(where: { before[$0.file] != nil && faults[$0.file] == nil }) {
      // What is not there, or not whole, had no places.
      contents.places = PlaceDirectory(contents.catalogue.regions, folder: folder, logger: logger)
    }
    let view = contents.view(faults)
    state.withLock { ($0.contents, $0.faults, $0.view) = (contents, faults, view) }
    log(faults, before: before, contents.catalogue)
  }

  /// What is wrong with the files, and what comes of it; as ``log`` and the greeting have it.
  func faultTexts() -> [String] {
    let (contents, faults) = state.withLock { ($0.contents, $0.faults) }
    let bundles = Self.bundles(contents.catalogue)
    return faults.sorted { $0.key < $1.key }.map { Self.text($0.key, $0.value, bundles[$0.key]) }
  }

  private static func bundles(_ catalogue: Catalogue) -> [String: String] {
    Dictionary(catalogue.regions.map { ($0.file, $0.id) }, uniquingKeysWith: { first, _ in first })
  }

  private static func text(_ file: String, _ fault: ShelfFiles.Fault, _ region: String?) -> String {
    "\(file) \(fault)" + (region.map { "; \($0) is not sold" } ?? "; it is not given out")
  }

  private func log(
    _ faults: [String: ShelfFiles.Fault], before: [String: ShelfFiles.Fault], _ catalogue: Catalogue
  ) {
    guard faults != before else { return }
    let bundles = Self.bundles(catalogue)
    for (file, fault) in faults.sorted(by: { $0.key < $1.key }) where before[file] != fault {
      logger.error("\(folder)/\(Self.text(file, fault, bundles[file])); build the shelf again, or copy it there whole")
    }
    let mended = before.keys.filter { faults[$0] == nil }.sorted()
    for file in mended where catalogue.regions.contains(where: { $0.file == file }) {
      logger.notice("\(folder)/\(file) is as the catalogue says again")
    }
  }

  private static func stamps(_ folder: String, _ products: String?) -> [FileStamp?] {
    [FileStamp("\(folder)/\(Catalogue.fileName)"), products.flatMap { FileStamp($0) }]
  }

  private static func load(_ folder: String, _ products: String?, _ logger: Logger) throws -> Contents {
    let catalogue = try Catalogue(path: "\(folder)/\(Catalogue.fileName)")
    return Contents(
      catalogue: catalogue, products: try products.map { try ProductStates(path: $0) },
      places: PlaceDirectory(catalogue.regions, folder: folder, logger: logger))
  }
}
