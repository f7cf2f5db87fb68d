import RegionCatalog
import Support
import TileIndex

extension SourceSettings {
  /// The keys of an elevation model, whose heights are in its first band.
  package static let modelKeys = ["file", "crop", "cutline", "crs", "nodata"]
  package static let keys = modelKeys + ["bands", "alpha"]

  /// Reads a list of sources: names of files, or objects with a name and settings.
  ///
  /// - Parameter keys: the valid members of an object.
  /// - Returns: the names, and the settings by their numbers; nil if there is no list.
  static func list(
    _ object: ManifestObject, _ key: String, keys: [String] = SourceSettings.keys, _ faults: ManifestFaults
  ) -> (files: [String], settings: [Int: SourceSettings])? {
    guard let items = object.value(key)?.array, items.contains(where: { $0.members != nil }) else {
      return object.files(key).map { ($0, [:]) }
    }
    var files: [String] = []
    var settings: [Int: SourceSettings] = [:]
    for (index, item) in items.enumerated() {
      let place = "\(object.place(key))[\(index)]"
      if let name = item.string, !name.isEmpty, !name.utf8.contains(0) {
        files.append(name)
      } else if item.members != nil {
        guard let source = ManifestObject(item, at: place, keys: keys, faults),
          let name = source.text("file", required: true, remedy: "name the raster")
        else { continue }
        settings[files.count] = SourceSettings(source, faults)
        files.append(name)
      } else {
        faults.add(place, "is no file's name", remedy: "write the path in quotation marks, or {\"file\": ...}")
      }
    }
    return (files, settings)
  }

  private init(_ object: ManifestObject, _ faults: ManifestFaults) {
    self.init()
    let remedy = "give the pixels to leave out as [left, top, right, bottom]"
    if let numbers = object.numbers("crop", count: 4, remedy: remedy) {
      crop = Crop(numbers)
      if crop == nil { object.fault("crop", "is not four whole numbers from 0 on", remedy: remedy) }
    }
    cutline = object.outline("cutline", faults)
    for setting in CutSetting.all { setting.takeOfSource?(object, &self) }
  }
}

extension ManifestObject {
  /// Polygons as GeoJSON, in the manifest or in a file of their own.
  func outline(_ key: String, _ faults: ManifestFaults) -> RegionBoundary? {
    guard let value = value(key) else { return nil }
    let remedy = "give GeoJSON with a Polygon or MultiPolygon in degrees, longitude first"
    guard let file = value.string else {
      do {
        return try RegionBoundary(geoJSON: value)
      } catch {
        // "document" means the geometry itself.
        let steps = error.place.split(separator: ".").drop { $0 == "document" }
        fault(([key[...]] + steps).joined(separator: "."), error.message, remedy: remedy)
        return nil
      }
    }
    let path = RegionManifest(path: faults.path, regions: []).resolved(file)
    do {
      return try RegionBoundary(file: path)
    } catch let error as GeoJSONGeometry.Fault {
      faults.add(error.place, error.message, remedy: remedy, path: path)
    } catch let error as JSONValue.SyntaxError {
      faults.add("", "is not valid JSON: \(error)", remedy: remedy, path: path)
    } catch {
      fault(
        key, "names \(path), which cannot be read: \(error)", remedy: "check the path; it is relative to the manifest")
    }
    return nil
  }
}
