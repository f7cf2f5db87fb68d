import MapStoreWire
import RegionCatalog
import TileIndex

extension LibraryEntry {
  /// All that an account sees, in the order of the shelf.
  static func all(of view: ShelfView, _ question: LibraryQuestion) -> [LibraryEntry] {
    view.regions.indices.compactMap { index in
      entry(index, view, question.standing[index], installed: question.installed[view.regions[index].id])
    }
  }

  private static func entry(
    _ index: Int, _ view: ShelfView, _ standing: LibraryQuestion.Standing?, installed: String?
  ) -> LibraryEntry? {
    switch standing {
    case .owned?:
      let region = view.regions[index]
      guard let installed else { return LibraryEntry(region: index, status: .ownedNotInstalled) }
      if installed == region.edition {
        return LibraryEntry(region: index, status: .ownedInstalled, installedEdition: installed)
      }
      return LibraryEntry(
        region: index, status: .updateAvailable, installedEdition: installed,
        patchBytes: region.patches.first { $0.fromEdition == installed }?.bytes)
    case .pending?: return LibraryEntry(region: index, status: .pendingApproval, installedEdition: installed)
    case .revoked?: return LibraryEntry(region: index, status: .revoked, installedEdition: installed)
    case nil:
      guard view.isForSale[index] else { return nil }
      return LibraryEntry(region: index, status: .forSale, installedEdition: installed)
    }
  }

  /// Reads `id@edition,id@edition`, each percent-encoded once more inside the query's value.
  static func installed(_ text: String?) throws(Problem) -> [String: String] {
    var editions: [String: String] = [:]
    for item in (text ?? "").utf8.split(separator: UInt8(ascii: ",")) {
      let parts = item.split(separator: UInt8(ascii: "@"), omittingEmptySubsequences: false)
      guard parts.count == 2, let id = PercentDecoding.decode(parts[0]), let edition = PercentDecoding.decode(parts[1])
      else { throw .badRequest("installed: is no list of id@edition with commas") }
      editions[id] = try checked(edition, "installed: \"\(id)\"")
    }
    return editions
  }

  /// - Throws: `Problem` 400 for an edition that is none: it is kept as long as the answer is.
  static func installed(_ message: InstalledRegions) throws(Problem) -> [String: String] {
    var editions: [String: String] = [:]
    for (index, region) in message.installed.enumerated() {
      editions[region.id] = try checked(region.edition, "installed[\(index)].edition")
    }
    return editions
  }

  private static func checked(_ edition: String, _ place: String) throws(Problem) -> String {
    guard RegionManifest.isName(edition) else {
      throw .badRequest("\(place): is no edition: at most 100 letters, digits, dots, dashes and underscores")
    }
    return edition
  }
}
