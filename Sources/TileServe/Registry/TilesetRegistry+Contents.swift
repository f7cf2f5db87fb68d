import Support
import TileIndex

extension TilesetRegistry {
  /// The contents at one moment.
  struct Contents: Sendable {
    var tilesets: [String: Tileset] = [:]
    /// By id.
    var ordered: [Tileset] = []
    /// What cannot be served now, by id or path.
    var failures: [String: Failure] = [:]
    /// Folders that cannot be listed, by the id that they would have.
    var unlisted: [String: String] = [:]
    /// Paths whose id another path has.
    var duplicates: Set<String> = []
    /// The ids or paths of failures that were not reported yet.
    var unreported: Set<String> = []
    /// Broken bundles; they are not tried again before they change.
    var broken: Set<BundlePlaces.Place> = []

    /// Why an id is unavailable; nil if nothing has it. In a folder that cannot be listed there may be anything.
    func failure(_ id: String) -> Failure? {
      if let failure = failures[id] { return failure }
      guard !unlisted.isEmpty else { return nil }
      let parts = id.split(separator: "--", omittingEmptySubsequences: false)
      let folder = parts.indices.lazy.compactMap { unlisted[parts[...$0].joined(separator: "--")] }.first
      return folder.flatMap { failures[$0] }
    }

    mutating func order() {
      ordered = tilesets.values.sorted { $0.id.utf8.lexicographicallyPrecedes($1.id.utf8) }
    }
  }

  /// Why something cannot be served.
  struct Failure: Sendable {
    /// Nil for what the scan of a folder refused.
    let error: (any Error)?
    /// For clients: without the paths of files.
    let reason: String

    /// For the operator.
    var description: String { error.map { "\($0)" } ?? reason }

    init(refused reason: String) { (error, self.reason) = (nil, reason) }

    init(_ error: any Error) {
      self.error = error
      guard let error = error as? BundleError else {
        reason = "\(error)"
        return
      }
      let reason = "\(Folder.name(error.path ?? "")): \(error.message)"
      // Other remedies may contain paths.
      self.reason = [.tooManyOpenFiles, .tooCostly].contains(error.code) ? "\(reason); \(error.remedy ?? "")" : reason
    }
  }
}
