import RegionCatalog
import Support
import TileIndex

/// The layers of a map as a manifest lists them, in drawing order.
struct MapLayers {
  /// The rasters and elevation models of all layers, in drawing order.
  var files: [String] = []
  /// What is said of single files, by their index in ``files``.
  var settings: [Int: SourceSettings] = [:]

  /// Lines, areas and points over them.
  var drawing: [VectorLayer] = []

  static let types = ["raster", "relief", "contours", "vector", "graticule"]
  static let contourKeys = ["type", "dem", "interval", "indexEvery", "style", "images"]
  static let vectorKeys = ["type", "data", "style", "images"]
  static let graticuleKeys = ["type", "interval", "style", "images"]
  /// A second of arc to a quarter of the globe, in degrees.
  static let graticuleIntervals = 1.0 / 3600...90
  static let rasterKeys = ["type", "sources"]
  static let reliefKeys = [
    "type", "dem", "shading", "azimuth", "altitude", "exaggeration", "strength", "shadowColor", "highlightColor",
    "tint", "tintBy", "overlay",
  ]

  /// - Returns: nil if there is no list.
  init?(_ object: ManifestObject, _ key: String, _ faults: ManifestFaults) {
    guard let value = object.value(key) else { return nil }
    guard let items = value.array, !items.isEmpty else {
      object.fault(
        key, value.array == nil ? "is \(value.kind), not an array" : "is empty",
        remedy: "list the layers in drawing order: [{\"type\": \"raster\", \"sources\": [\"map.tif\"]}]")
      return nil
    }
    for (index, item) in items.enumerated() { take(item, at: "\(object.place(key))[\(index)]", faults) }
    if files.isEmpty, !drawing.isEmpty {
      object.fault(
        key, "have no layer of type \"raster\" or \"relief\"", remedy: "add one: tiles are made where it lies")
    }
  }

  private mutating func take(_ value: JSONValue, at place: String, _ faults: ManifestFaults) {
    if !drawing.isEmpty, ["raster", "relief"].contains(value["type"]?.string) {
      faults.add(
        place, "lies over a layer of lines",
        remedy: "list layers of type \"contours\", \"vector\" and \"graticule\" last")
    }
    let choice = "write \(Self.types.map { "\"\($0)\"" }.joined(separator: " or "))"
    switch value["type"]?.string {
    case "raster":
      guard let layer = ManifestObject(value, at: place, keys: Self.rasterKeys, faults) else { return }
      guard layer.has("sources") else {
        layer.fault("sources", "is missing", remedy: "name at least one raster")
        return
      }
      add(SourceSettings.list(layer, "sources", faults))
    case "relief":
      guard let layer = ManifestObject(value, at: place, keys: Self.reliefKeys, faults) else { return }
      let style = ReliefLayer(layer, faults)
      guard layer.has("dem") else {
        layer.fault("dem", "is missing", remedy: "name the rasters with the heights")
        return
      }
      add(SourceSettings.list(layer, "dem", keys: SourceSettings.modelKeys, faults)) { $0.relief = style }
    case "contours":
      guard let layer = ManifestObject(value, at: place, keys: Self.contourKeys, faults) else { return }
      let rules = StyleRule.list(layer, "style", usual: VectorLayer.contourStyle, faults)
      for (key, remedy) in [
        ("dem", "name the rasters with the heights"), ("interval", "write the metres between lines"),
      ]
      where !layer.has(key) {
        layer.fault(key, "is missing", remedy: remedy)
      }
      let interval = layer.number("interval", in: 0.01...100_000)
      let every = layer.whole("indexEvery", in: 1...1000) ?? 5
      guard let list = SourceSettings.list(layer, "dem", keys: SourceSettings.modelKeys, faults), let interval,
        let rules
      else { return }
      drawing.append(
        VectorLayer(
          .contours(
            VectorLayer.Contours(
              models: list.files, settings: list.settings, interval: interval, indexEvery: every)), rules: rules,
          images: Self.images(layer, faults)))
    case "vector":
      guard let layer = ManifestObject(value, at: place, keys: Self.vectorKeys, faults) else { return }
      let file = layer.text("data", required: true, remedy: "name a GeoJSON or GPX file")
      let rules = StyleRule.list(layer, "style", faults)
      if let file, let rules {
        drawing.append(VectorLayer(.file(file), rules: rules, images: Self.images(layer, faults)))
      }
    case "graticule":
      guard let layer = ManifestObject(value, at: place, keys: Self.graticuleKeys, faults) else { return }
      let rules = StyleRule.list(layer, "style", usual: VectorLayer.graticuleStyle, faults)
      let interval = layer.number("interval", in: Self.graticuleIntervals)
      guard let rules else { return }
      drawing.append(
        VectorLayer(.graticule(interval: interval), rules: rules, images: Self.images(layer, faults)))
    case let word?:
      faults.add(
        "\(place).type", "is no type of layer: \"\(word)\"",
        remedy: Spelling.nearest(to: word, among: Self.types).map { "did you mean \"\($0)\"?" } ?? choice)
    case nil:
      faults.add(value.members == nil ? place : "\(place).type", "says no type of layer", remedy: choice)
    }
  }

  /// Files of icons by their names.
  private static func images(_ layer: ManifestObject, _ faults: ManifestFaults) -> [String: String] {
    guard let value = layer.value("images") else { return [:] }
    var images: [String: String] = [:]
    for member in value.members ?? [] { images[member.name] = member.value.string }
    if images.count != value.members?.count || images.isEmpty || images.values.contains("") {
      layer.fault("images", "does not name files by names of icons", remedy: "write {\"hut\": \"icons/hut.png\"}")
    }
    return images
  }

  private mutating func add(
    _ list: (files: [String], settings: [Int: SourceSettings])?, _ change: (inout SourceSettings) -> Void = { _ in }
  ) {
    guard let list else { return }
    for (index, file) in list.files.enumerated() {
      var own = list.settings[index] ?? SourceSettings()
      change(&own)
      if own != SourceSettings() { settings[files.count] = own }
      files.append(file)
    }
  }
}

extension StyleRule {
  /// The layers of a style: a list, or the name of a file with a list or with a style document.
  ///
  /// - Parameter usual: the list, as JSON, that counts where there is none; nil if there must be one.
  fileprivate static func list(
    _ object: ManifestObject, _ key: String, usual: String? = nil, _ faults: ManifestFaults
  ) -> [StyleRule]? {
    let remedy = "write [{\"type\": \"line\", \"paint\": {\"line-color\": \"#b03a2e\"}}], or name a file with it"
    guard var value = object.value(key) ?? usual.flatMap({ try? JSONValue(parsing: Array($0.utf8)) }) else {
      object.fault(key, "is missing", remedy: remedy)
      return nil
    }
    var (path, place) = (faults.path, object.place(key))
    if let file = value.string {
      path = RegionManifest(path: faults.path, regions: []).resolved(file)
      do {
        value = try JSONFile.read(path)
      } catch {
        object.fault(
          key, "names \(path), which cannot be read: \(error)",
          remedy: "check the path; it is relative to the manifest")
        return nil
      }
      place = ""
      if let layers = value["layers"] { (value, place) = (layers, "layers") }
    }
    guard let items = value.array, !items.isEmpty else {
      faults.add(place, "is no list of layers of a style", remedy: remedy, path: path)
      return nil
    }
    let before = faults.faults.count
    var source: String?
    for (index, item) in items.enumerated() {
      guard let name = item["source"]?.string else { continue }
      if let source, source != name {
        faults.add(
          "\(place)[\(index)].source",
          "is \"\(name)\", but layers before have \"\(source)\": the map's layer has one file",
          remedy: "make a layer of the map for each source, with the layers of the style that draw it", path: path)
      }
      source = source ?? name
    }
    let rules = items.enumerated().compactMap { index, item in
      StyleRule(item) { part, message, remedy in
        let start = "\(place)[\(index)]"
        faults.add(part.isEmpty ? start : "\(start).\(part)", message, remedy: remedy, path: path)
      }
    }
    return faults.faults.count == before ? rules : nil
  }
}

extension ReliefLayer {
  fileprivate init(_ object: ManifestObject, _ faults: ManifestFaults) {
    self.init()
    shading = object.word("shading") ?? shading
    azimuth = object.number("azimuth", in: 0...360) ?? azimuth
    altitude = object.number("altitude", in: 1...90) ?? altitude
    exaggeration = object.number("exaggeration", in: 0.001...1000) ?? exaggeration
    strength = object.number("strength", in: 0...1) ?? strength
    isOverlay = object.flag("overlay") ?? isOverlay
    shadowColour = object.colour("shadowColor") ?? shadowColour
    highlightColour = object.colour("highlightColor") ?? highlightColour
    tint = ColourRamp(object, "tint", faults)
    if let value: TintValue = object.word("tintBy") {
      tintBy = value
      if !object.has("tint") { object.fault("tintBy", "means nothing without tint", remedy: "leave it out") }
    }
    if isOverlay, object.has("tint") {
      object.fault("overlay", "draws no colours", remedy: "leave tint out, or overlay")
    }
    if shading == .none, !object.has("tint") {
      object.fault("shading", "leaves nothing to draw without tint", remedy: "give it a tint, or another shading")
    }
    for key in ["shadowColor", "highlightColor"] where object.has(key) {
      if shading == .none {
        object.fault(key, "means nothing for the shading \"none\"", remedy: "leave it out")
      } else if tint == nil, !object.has("tint"), !isOverlay {
        object.fault(key, "means nothing for a grey relief", remedy: "give it a tint, or \"overlay\": true")
      }
    }
    for key in ["azimuth", "altitude"] where object.has(key) {
      if shading == .hillshade || key == "altitude" && shading == .multidirectional { continue }
      object.fault(key, "means nothing for the shading \"\(shading.rawValue)\"", remedy: "leave it out")
    }
  }
}

extension ManifestObject {
  fileprivate func colour(_ key: String) -> MapColour? {
    let remedy = "write an opaque colour, such as \"#2b3a67\""
    guard let word = text(key, remedy: remedy) else { return nil }
    if let colour = MapColour(word), colour.alpha == 255 { return colour }
    fault(key, "is no opaque colour: \"\(word)\"", remedy: remedy)
    return nil
  }
}

extension ColourRamp {
  /// A list of values and colours in the manifest, or the name of a file in the format of `gdaldem color-relief`.
  fileprivate init?(_ object: ManifestObject, _ key: String, _ faults: ManifestFaults) {
    guard let value = object.value(key) else { return nil }
    let remedy = "write [[0, \"#2d6b3c\"], [2500, \"#ffffff\"]], or name a file of gdaldem color-relief"
    if let file = value.string {
      let path = RegionManifest(path: faults.path, regions: []).resolved(file)
      do {
        try self.init(gdalText: UTF8Mark.text(JSONFile.bytes(path)))
      } catch let fault as Fault {
        faults.add("line \(fault.line)", fault.message, remedy: "see gdaldem color-relief", path: path)
        return nil
      } catch {
        object.fault(
          key, "names \(path), which cannot be read: \(error)",
          remedy: "check the path; it is relative to the manifest")
        return nil
      }
      return
    }
    guard let items = value.array, !items.isEmpty else {
      object.fault(key, "is \(value.array == nil ? value.kind : "empty")", remedy: remedy)
      return nil
    }
    var stops: [Stop] = []
    for (index, item) in items.enumerated() {
      guard let pair = item.array, pair.count == 2, let number = pair[0].finite, let text = pair[1].string,
        let colour = MapColour(text)
      else {
        faults.add("\(object.place(key))[\(index)]", "is not a value and a colour", remedy: remedy)
        return nil
      }
      stops.append(Stop(value: number, rgba: colour.word))
    }
    self.init(stops)
  }
}
