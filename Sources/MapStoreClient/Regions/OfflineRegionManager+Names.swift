import MapStoreWire
import TileIndex

/// Regions that have other names at the server than on the device. What is installed and what was paid stay together.
extension OfflineRegionManager {
  /// Gives local regions the names that the server's library has for them, before the library is taken over:
  ///
  /// - a region of which the id is among another one's `formerIds`;
  /// - a region that the library does not list, or lists with another product than it was installed with, if the
  ///   library has its product in one region that is new here. (One that was known beside it is another map of that
  ///   product.)
  ///
  /// What is installed under the new name too stays; the old one is removed if the server says that it is the same
  /// region. Regions that are being installed keep their names until the next time.
  ///
  /// - Returns: what was renamed or removed.
  func followNames(_ told: [LibraryRegion]) throws -> [RegionRename] {
    let installed = try state.installed()
    let local = Set(installed.map(\.part.region) + (try state.downloads()).map(\.wanted.part.region))
    let heirs = Dictionary(
      told.flatMap { region in (region.formerIds ?? []).map { ($0, region.id) } }, uniquingKeysWith: { a, _ in a })
    let byID = Dictionary(told.map { ($0.id, $0) }, uniquingKeysWith: { a, _ in a })
    let byProduct = Dictionary(grouping: told, by: \.productId)
    var renames: [RegionRename] = []
    for id in local.sorted() {
      let product = try state.product(of: id)
      if let same = byID[id], product == nil || same.productId == product { continue }
      if byID[id] == nil, let heir = heirs[id] {
        renames.append(RegionRename(from: id, to: heir))
      } else if let product, let others = byProduct[product], others.count == 1, others[0].id != id,
        try state.product(of: others[0].id) != product
      {
        renames.append(RegionRename(from: id, to: others[0].id))
      }
    }
    renames.removeAll { isBusy($0.from) || isBusy($0.to) }
    let whole = Set(installed.filter { $0.part.pack == nil }.map(\.part.region))
    var taken: Set<String> = []
    // A name is free if nothing is installed under it, or if that leaves; until no more of them falls away.
    var moving = renames
    repeat {
      renames = moving
      taken = whole.subtracting(renames.map(\.from))
      moving = renames.filter { taken.insert($0.to).inserted }
    } while moving.count < renames.count
    let isDone = try RegionDatabase.ifRoom { try RegionRenaming(state: state, files: files).run(moving) }
    return (isDone ? moving : []) + (try removeCopies(heirs))
  }

  /// Removes what is installed under a former id of a region that is installed under its present one.
  private func removeCopies(_ heirs: [String: String]) throws -> [RegionRename] {
    let installed = try state.installed()
    let whole = Set(installed.filter { $0.part.pack == nil }.map(\.part.region))
    let copies = Set(installed.map(\.part.region)).sorted().compactMap { id in
      heirs[id].flatMap { heir in whole.contains(heir) ? RegionRename(from: id, to: heir) : nil }
    }.filter { !isBusy($0.from) && !isBusy($0.to) }
    for copy in copies { try removeFiles { $0.region == copy.from } }
    return copies
  }
}
