import RegionCatalog
import Support
package import TileIndex

extension RegionManifest {
  package static let documentKeys = ["$schema", "version", "defaults", "categories", "regions"]
  package static let regionKeys =
    [
      "id", "productId", RegionNames.formerIDsKey, RegionNames.formerProductIDsKey, "title", "category", "description",
      "bounds", "boundary",
    ] + RegionSettings.keys

  /// Reads and checks a manifest and the boundary files it refers to. Its rasters need not exist.
  ///
  /// - Throws: ``ManifestError`` with all errors: the file, the position in the document and the remedy of each.
  package init(path: String) throws { try self.init(path: path, crsLookup: nil) }

  /// Reads and checks a manifest whose grids may lie in any CRS; see ``init(path:)``.
  ///
  /// - Parameter crsLookup: finds other CRSs than Web Mercator and degrees.
  package init(path: String, crsLookup: CRSLookup?) throws {
    let document: JSONValue
    do {
      document = try JSONFile.read(path, duplicates: .kept)
    } catch let error as JSONFile.Unreadable {
      throw ManifestError(
        .unreadable, path: path, "cannot be read: \(error)", remedy: "check the path and its permissions")
    } catch let error as JSONValue.SyntaxError {
      throw ManifestError(
        .malformed, path: path, "is not valid JSON: \(error)",
        remedy: "see docs/reference/region-manifest.md for an example")
    }
    let faults = ManifestFaults(path: path, crsLookup: crsLookup)
    let regions = RegionManifest(path: path, regions: []).read(document, faults)
    guard faults.faults.isEmpty else { throw ManifestError(.malformed, faults.faults) }
    self.init(path: path, regions: regions)
  }

  /// 1. Read the defaults.
  /// 2. Read the categories.
  /// 3. Read each region over its category over the defaults.
  /// 4. Check what must be unique.
  private func read(_ value: JSONValue, _ faults: ManifestFaults) -> [Region] {
    guard let document = ManifestObject(value, at: "", keys: Self.documentKeys, faults) else { return [] }
    if let version = document.value("version"), version != .number("1") {
      document.fault(
        "version", "is \(version.kind(withText: true)), and only 1 is known here",
        remedy: "write 1, or use a newer tilecut")
    }
    var defaults = RegionSettings()
    if let object = ManifestObject(document.value("defaults"), at: "defaults", keys: RegionSettings.keys, faults) {
      defaults.take(object, faults)
    }
    let categories = categories(document, defaults: defaults, faults)
    guard let list = document.value("regions") else {
      let remedy =
        document.has("region") ? "did you mean the key \"region\" to be it?" : "list the regions: \"regions\": [...]"
      faults.add("regions", "is missing", remedy: remedy)
      return []
    }
    guard let items = list.array else {
      faults.add("regions", "is \(list.kind), not an array", remedy: "write the regions in brackets")
      return []
    }
    guard !items.isEmpty else {
      faults.add("regions", "is empty", remedy: "add a region")
      return []
    }
    let regions = items.enumerated().map { index, item in
      region(item, at: "regions[\(index)]", defaults: defaults, categories: categories, faults)
    }
    checkNames(regions, faults)
    return regions.compactMap { $0 }
  }

  /// Categories by name; nil when the document has none.
  private func categories(
    _ document: ManifestObject, defaults: RegionSettings, _ faults: ManifestFaults
  ) -> [(name: String, object: ManifestObject)]? {
    guard let value = document.value("categories") else { return nil }
    guard let members = value.members else {
      faults.add("categories", "is \(value.kind), not an object", remedy: "write {\"park\": {\"zoom\": [0, 12]}}")
      return nil
    }
    var names: Set<String> = []
    return members.compactMap { member in
      let place = "categories.\(member.name)"
      guard names.insert(member.name).inserted else {
        faults.addRepeated(place)
        return nil
      }
      guard let object = ManifestObject(member.value, at: place, keys: RegionSettings.keys, faults) else { return nil }
      // Read once here, so that its errors are reported once, not for each of its regions.
      var settings = defaults
      settings.take(object, faults)
      return (member.name, object)
    }
  }

  private func region(
    _ value: JSONValue, at place: String, defaults: RegionSettings,
    categories: [(name: String, object: ManifestObject)]?, _ faults: ManifestFaults
  ) -> Region? {
    guard let object = ManifestObject(value, at: place, keys: Self.regionKeys, faults) else { return nil }
    let id = object.text("id", required: true, remedy: "give each region a short name of its own")
    if let id, !RegionNames.isName(id) { object.fault("id", "is not a usable id: \"\(id)\"", remedy: Self.nameRemedy) }
    let title = object.shownText("title", required: true, remedy: "say what customers shall read")
    let category = object.shownText(
      "category", required: true, remedy: "name the category to list it under, such as \"park\"")
    var settings = defaults
    if let category, let categories {
      if let known = categories.first(where: { $0.name == category }) {
        settings.take(known.object, ManifestFaults(path: path))
      } else {
        let near = Spelling.nearest(to: category, among: categories.map(\.name))
        object.fault(
          "category", "is none of the document's categories: \"\(category)\"",
          remedy: near.map { "did you mean \"\($0)\"?" } ?? "add it to categories")
      }
    }
    settings.take(object, faults)
    let cut = settings.cut
    if cut.sources.isEmpty, !object.has("sources"), !object.has("layers") {
      object.fault("sources", "is missing", remedy: "name at least one raster, or list layers")
    }
    let levels = cut.matrixSet.zooms
    if case .levels(let zooms) = cut.zoom, !levels.contains(zooms.upperBound) {
      object.fault(
        "zoom", "reaches to \(zooms.upperBound), which \(cut.matrixSet.identifier) has not",
        remedy: "its levels are \(levels.lowerBound) to \(levels.upperBound)")
    }
    if settings.container == .pmtiles, cut.matrixSet != .webMercatorQuad {
      object.fault(
        "container", "is pmtiles, which knows Web Mercator only; the grid is \(cut.matrixSet.identifier)",
        remedy: "write mbtiles or geopackage")
    }
    if cut.isLinear, cut.resampling == .nearest || cut.resampling == .mode {
      object.fault("linear", "means nothing for \(cut.resampling.rawValue)", remedy: "leave it out")
    }
    if cut.variableDepth, !cut.drawing.isEmpty {
      object.fault(
        "variableDepth", "does not go with lines and labels, which are drawn anew at every zoom", remedy: "leave it out"
      )
    }
    if cut.tileSize != nil, cut.matrixSet.matrices.contains(where: { $0.tileWidth != 256 }) {
      object.fault("tileSize", "is said by the grid", remedy: "leave it out, and set tileSizes of the grid")
    }
    let boundary = object.outline("boundary", faults)
    checkClip(settings, boundary, object)
    let bounds = object.box("bounds")
    if let bounds, let boundary, bounds.west < bounds.east, boundary.bounds.intersection(bounds) == nil {
      object.fault("bounds", "and boundary have no ground in common", remedy: "leave one of them out")
    }
    return Region(
      id: id ?? "", productID: object.text("productId") ?? id ?? "",
      formerIDs: object.names(RegionNames.formerIDsKey, remedy: Self.nameRemedy) { RegionNames.isName($0) },
      formerProductIDs: object.names(
        RegionNames.formerProductIDsKey, remedy: "write the stores' product ids in quotation marks"),
      title: title ?? "", category: category ?? "",
      description: object.shownText("description", keepingLines: true), bounds: bounds, boundary: boundary,
      settings: settings)
  }

  /// A region is clipped to its own boundary.
  private func checkClip(_ settings: RegionSettings, _ boundary: RegionBoundary?, _ object: ManifestObject) {
    if settings.clip, !object.has("boundary") {
      object.fault("clip", "needs a boundary", remedy: "give the region a boundary, or \"clip\": false")
    }
    if object.has("buffer"), settings.buffer > 0, !settings.clip {
      object.fault("buffer", "means nothing without clip", remedy: "leave it out, or add \"clip\": true")
    }
  }

  /// Ids, product ids and file names must be unique.
  private func checkNames(_ regions: [Region?], _ faults: ManifestFaults) {
    var ids: Set<String> = []
    var products: Set<String> = []
    var files: [String: Int] = [:]
    for (index, region) in regions.enumerated() {
      guard let region, !region.id.isEmpty else { continue }
      let place = "regions[\(index)]"
      guard ids.insert(region.id).inserted else {
        faults.add("\(place).id", "repeats \"\(region.id)\"", remedy: "give each region an id of its own")
        continue
      }
      if !products.insert(region.productID).inserted {
        faults.add(
          "\(place).productId", "repeats \"\(region.productID)\"", remedy: "give each region a product of its own")
      }
      // "a-1" in edition "2" collides with "a" in edition "1-2"; on case-insensitive disks, "A" with "a".
      if let other = files.updateValue(index, forKey: region.stem.lowercased()) {
        faults.add(
          "\(place).id", "and edition make the file name \(region.stem), as those of regions[\(other)] do",
          remedy: "change the id or the edition of one of them")
      }
    }
    for fault in RegionNames.faults(of: regions.map { $0?.names ?? RegionNames(id: "", productID: "") }) {
      faults.add("regions[\(fault.region)].\(fault.member)", fault.message, remedy: fault.remedy)
    }
  }

  static let nameRemedy = "use letters, digits, dots, dashes and underscores, beginning with a letter or digit"
}

extension RegionManifest.Region {
  /// `id-edition`, the stem of the region's file names.
  package var stem: String { "\(id)-\(settings.edition)" }
}
