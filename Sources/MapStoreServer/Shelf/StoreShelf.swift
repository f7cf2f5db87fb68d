import Logging
import Synchronization
import TileIndex

/// The shelf's folder and the list of products, as they are now: looked at again every second, so that a new edition or a retired product needs no restart.
final class StoreShelf: Sendable {
  let folder: String
  private let products: String?
  private let logger: Logger

  private struct State {
    var view: ShelfView
    var stamps: [FileStamp?]
    /// Why what lies there now is not shown.
    var failure: String?
  }

  private let state: Mutex<State>

  /// - Throws: `BundleError` or ``StoreError`` that names the file.
  init(folder: String, products: String?, logger: Logger) throws {
    (self.folder, self.products, self.logger) = (folder, products, logger)
    let stamps = Self.stamps(folder, products)
    state = Mutex(State(view: try Self.load(folder, products, logger), stamps: stamps))
  }

  var view: ShelfView { state.withLock { $0.view } }
  var failure: String? { state.withLock { $0.failure } }

  func path(of file: String) -> String { "\(folder)/\(file)" }

  /// Reads what was replaced. What cannot be read leaves the last good state, and is tried again each time: a permission that was mended changes nothing of what is looked at.
  func refresh() {
    // Stamps before contents: a change in between is seen the next time.
    let stamps = Self.stamps(folder, products)
    guard state.withLock({ $0.stamps != stamps || $0.failure != nil }) else { return }
    do {
      let view = try Self.load(folder, products, logger)
      state.withLock { $0 = State(view: view, stamps: stamps) }
      logger.info("the shelf has changed: \(view.regions.count) regions")
    } catch {
      let failure = "\(error)"
      let isNews = state.withLock { state in
        defer { (state.stamps, state.failure) = (stamps, failure) }
        return state.failure != failure
      }
      if isNews { logger.error("the shelf has changed, but cannot be used; the last state is kept: \(failure)") }
    }
  }

  private static func stamps(_ folder: String, _ products: String?) -> [FileStamp?] {
    [FileStamp("\(folder)/\(Catalogue.fileName)"), products.flatMap { FileStamp($0) }]
  }

  private static func load(_ folder: String, _ products: String?, _ logger: Logger) throws -> ShelfView {
    let catalogue = try Catalogue(path: "\(folder)/\(Catalogue.fileName)")
    return ShelfView(
      catalogue, products: try products.map { try ProductStates(path: $0) },
      places: PlaceDirectory(catalogue.regions, folder: folder, logger: logger))
  }
}
