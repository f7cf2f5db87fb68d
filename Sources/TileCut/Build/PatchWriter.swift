import RegionCatalog
import TileIndex

/// Makes the patches from a region's earlier editions to its new bundle.
struct PatchWriter {
  /// An earlier edition's bundle.
  private struct Edition {
    let name: String
    let path: String
    let matrixSet: TileMatrixSet
  }

  private let region: RegionManifest.Region
  private let bundle: String
  private let folder: String
  private let editions: [Edition]
  /// Files that are named like an earlier edition but are none.
  let warnings: [String]

  /// Finds earlier editions: files `id-EDITION.mbtiles`, also under former ids, whose metadata agrees and that are not
  /// tile packs. Patches make MBTiles, and so lead to no bundle in another container.
  ///
  /// - Parameters:
  ///   - bundle: the region's new bundle.
  ///   - folder: where patches are written.
  ///   - editionsFolder: nil means no patches.
  init(region: RegionManifest.Region, bundle: String, folder: String, editionsFolder: String?) throws {
    (self.region, self.bundle, self.folder) = (region, bundle, folder)
    guard let editionsFolder else {
      (editions, warnings) = ([], [])
      return
    }
    let container = region.settings.container
    guard container == .mbtiles else {
      editions = []
      let reason = "patches make MBTiles, and its container is \(container.rawValue)"
      warnings = ["\(region.id): no patch leads to it: \(reason)"]
      return
    }
    var warnings: [String] = []
    var editions: [Edition] = []
    for id in region.names.ids {
      let found = try Self.editions(of: id, but: region.settings.edition, in: editionsFolder, &warnings)
      editions += found.filter { new in !editions.contains { $0.name == new.name } }
    }
    self.editions = editions
    self.warnings = warnings
  }

  /// The earlier editions under one of the region's ids.
  private static func editions(
    of id: String, but present: String, in folder: String, _ warnings: inout [String]
  ) throws -> [Edition] {
    let (start, end) = ("\(id)-", ".mbtiles")
    return try CatalogFiles.names(in: folder).compactMap { name in
      guard name.hasPrefix(start), name.hasSuffix(end), name.utf8.count > start.utf8.count + end.utf8.count else {
        return nil
      }
      let edition = String(name.dropFirst(start.count).dropLast(end.count))
      guard edition != present else { return nil }
      let path = "\(folder)/\(name)"
      let reader = try MBTilesReader(path: path)
      let metadata = reader.metadata
      guard metadata[RegionMetadata.packKey] == nil else { return nil }
      let found = (region: metadata[RegionMetadata.regionKey], edition: metadata[RegionMetadata.editionKey])
      if found.region == id, found.edition == edition {
        return Edition(name: edition, path: path, matrixSet: reader.matrixSet)
      }
      // A region whose id begins with this id may have produced the same name.
      if found.region == nil || found.region == id {
        let said =
          found.edition.map { "says that it is edition \($0)" } ?? "does not say which region and edition it is"
        warnings.append("\(path): no patch leads from it: its metadata \(said)")
      }
      return nil
    }
  }

  /// The bundles of the earlier editions.
  var files: [String] { editions.map(\.path) }

  /// A hash of everything that the patches depend on.
  func fingerprint(_ bundle: String, _ hashes: InputHashes) throws -> String {
    let lines = try editions.map { "\($0.name) \(try hashes.sha256($0.path))" }
    return FileHash.sha256(ofText: "\(bundle) patches\n\(lines.joined(separator: "\n"))")
  }

  /// Writes the patches that are smaller than the whole bundle.
  ///
  /// - Parameter warnings: receives a line for each edition that cannot be patched.
  func write(bundleBytes: Int, _ warnings: inout [String]) throws -> [Catalog.Patch] {
    var patches: [Catalog.Patch] = []
    for edition in editions {
      let name = "\(region.stem).from-\(edition.name).patch"
      let output = "\(folder)/\(name)"
      let grid = region.settings.cut.matrixSet
      guard edition.matrixSet == grid else {
        warnings.append("\(edition.path): no patch leads from it: its grid is \(edition.matrixSet.identifier)")
        continue
      }
      do {
        let summary = try BundlePatch.diff(old: edition.path, new: bundle, output: output, replacing: true)
        guard summary.patchBytes < bundleBytes else {
          CatalogFiles.remove(output)
          continue
        }
        patches.append(
          Catalog.Patch(
            fromEdition: edition.name, fromTilesHash: summary.baseTilesHash.description, file: name,
            bytes: summary.patchBytes, sha256: try FileHash.sha256(ofFile: output)))
      } catch let error as BundleError where error.code == .mismatch {
        warnings.append("\(edition.path): no patch leads from it: \(error.message)")
      }
    }
    return patches
  }
}
