import MapStoreWire
import PurchaseLedger
import TileIndex

extension LibraryEntry {
  /// All that an account sees, in the order of the shelf.
  ///
  /// - Parameter installed: editions by region id.
  static func all(
    of view: ShelfView, entitlements: [Entitlement], installed: [String: String]
  ) -> [LibraryEntry] {
    var standing: [Int: Standing] = [:]
    for entitlement in entitlements {
      guard let index = entitlement.productID.flatMap(view.index(ofProduct:)),
        let found = Standing(entitlement.status)
      else { continue }
      standing[index] = max(standing[index] ?? found, found)
    }
    return view.regions.indices.compactMap { index in
      entry(index, view, standing[index], installed: installed[view.regions[index].id])
    }
  }

  private static func entry(
    _ index: Int, _ view: ShelfView, _ standing: Standing?, installed: String?
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

  /// Several grants of one product: the best counts.
  private enum Standing: Int, Comparable {
    case revoked, pending, owned

    /// Nil for what gives no region and took none: consumables, the other environment.
    init?(_ status: Entitlement.Status) {
      switch status {
      case .active: self = .owned
      case .pending: self = .pending
      case .revoked: self = .revoked
      case .held, .withheld: return nil
      }
    }

    static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
  }

  /// Reads `id@edition,id@edition`, each percent-encoded once more inside the query's value.
  static func installed(_ text: String?) throws(Problem) -> [String: String] {
    var editions: [String: String] = [:]
    for item in (text ?? "").utf8.split(separator: UInt8(ascii: ",")) {
      let parts = item.split(separator: UInt8(ascii: "@"), omittingEmptySubsequences: false)
      guard parts.count == 2, let id = PercentDecoding.decode(parts[0]), let edition = PercentDecoding.decode(parts[1])
      else { throw .badRequest("installed: is no list of id@edition with commas") }
      editions[id] = edition
    }
    return editions
  }
}
