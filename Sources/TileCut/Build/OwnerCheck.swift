import RegionCatalog
import Support

/// Refuses a catalogue whose publication would take maps from their owners: every id and product that the published
/// catalogue has, as a present or a former name, must be a name of a region of the next one.
///
/// 1. The next catalogue has the manifest's regions; if only some are built, also those published ones that no region
///    of the manifest takes the place of.
/// 2. An id or product that none of them has is lost: devices and purchases that name it lead nowhere.
/// 3. An id that passes to another product is lost too: devices have the map of the old product under it.
struct OwnerCheck: Sendable {
  /// Published regions that the manifest does not have, and that stay because only some regions are built.
  let kept: [Catalog.Region]
  private let options: CatalogBuildOptions
  private let present: Catalog?
  private let next: [RegionNames]

  init(_ options: CatalogBuildOptions, present: Catalog?) {
    (self.options, self.present) = (options, present)
    let regions = options.manifest.regions
    guard let only = options.only else {
      (next, kept) = (regions.map(\.names), [])
      return
    }
    let listed = regions.compactMap { only.contains($0.id) ? $0.names : present?[$0.id]?.names }
    let (ids, products) = (Set(listed.flatMap(\.ids)), Set(listed.map(\.productID)))
    let inManifest = Set(regions.map(\.id))
    kept = (present?.regions ?? []).filter {
      !inManifest.contains($0.id) && !ids.contains($0.id) && !products.contains($0.productId)
    }
    next = listed + kept.map(\.names)
  }

  /// A name that would be lost, and what to do about it.
  private struct Loss {
    let name: String
    let remedy: String
  }

  /// - Throws: ``CatalogBuildError`` `.orphansOwners`, unless the options allow it.
  func run() throws {
    guard let present, !options.orphansOwners else { return }
    let losses = present.regions.flatMap { lost(of: $0.names) }
    guard !losses.isEmpty else { return }
    let shown = losses.prefix(Self.shownMax)
    let more = losses.count > shown.count ? ", and \(losses.count - shown.count) more" : ""
    var remedies: [String] = []
    for loss in shown where !remedies.contains(loss.remedy) { remedies.append(loss.remedy) }
    throw CatalogBuildError(
      .orphansOwners, path: options.manifest.path,
      "lacks names of the published catalogue, whose owners would lose the map: "
        + shown.map(\.name).joined(separator: ", ") + more,
      remedy: (remedies + ["--orphan-owners publishes without them"]).joined(separator: "; "))
  }

  private static let shownMax = 5

  private func lost(of old: RegionNames) -> [Loss] {
    let heir = next.first { $0.id == old.id } ?? next.first { !Set($0.products).isDisjoint(with: old.products) }
    var losses: [Loss] = []
    for id in old.ids {
      guard let new = next.first(where: { $0.ids.contains(id) }) else {
        losses.append(Loss(name: "the region \"\(id)\"", remedy: remedy(RegionNames.formerIDsKey, id, heir, old)))
        continue
      }
      guard Set(new.products).isDisjoint(with: old.products) else { continue }
      // The product is lost as well, and named below, unless another region has it.
      guard next.contains(where: { $0.products.contains(old.productID) }) else { continue }
      losses.append(
        Loss(
          name: "the region \"\(id)\", whose product was \"\(old.productID)\" and is \"\(new.productID)\"",
          remedy: "give the region of \"\(new.productID)\" an id that no region had"))
    }
    for product in old.products where !next.contains(where: { $0.products.contains(product) }) {
      losses.append(
        Loss(
          name: "the product \"\(product)\"", remedy: remedy(RegionNames.formerProductIDsKey, product, heir, old)))
    }
    return losses
  }

  private func remedy(_ key: String, _ name: String, _ heir: RegionNames?, _ old: RegionNames) -> String {
    guard let heir else {
      return "keep the region \"\(old.id)\" (a list of products takes it off sale), or name it in "
        + "\(RegionNames.formerIDsKey) and \(RegionNames.formerProductIDsKey) of the region that takes its place"
    }
    return "add \"\(key)\": [\"\(name)\"] to the region \"\(heir.id)\""
  }

  /// Former names of a region that the published catalogue does not know: misspelled, or from before it.
  func warnings(about region: RegionManifest.Region) -> [String] {
    guard let present else { return [] }
    let published = present.regions.map(\.names)
    let (ids, products) = (published.flatMap(\.ids), published.flatMap(\.products))
    func unknown(_ names: [String], among known: [String], _ key: String) -> [String] {
      names.filter { !known.contains($0) }.map { name in
        let near = Spelling.nearest(to: name, among: known)
        return "\(region.id): \(key) has \"\(name)\", which the published catalogue never had"
          + (near.map { "; did you mean \"\($0)\"?" } ?? "")
      }
    }
    return unknown(region.formerIDs, among: ids, RegionNames.formerIDsKey)
      + unknown(region.formerProductIDs, among: products, RegionNames.formerProductIDsKey)
  }
}
