/// A layer of lines, areas, points and labels, drawn over the pictures at every zoom.
package struct VectorLayer: Hashable, Sendable {
  /// Where the features come from.
  package enum Data: Hashable, Sendable {
    /// A GeoJSON or GPX file.
    case file(String)
    /// Lines of equal height of elevation models.
    case contours(Contours)
    /// Lines of longitude and latitude; degrees between them, or nil for what suits each zoom.
    case graticule(interval: Double?)

    /// The layer's type in a manifest.
    package var type: String {
      switch self {
      case .file: "vector"
      case .contours: "contours"
      case .graticule: "graticule"
      }
    }
  }

  /// The contours of elevation models.
  package struct Contours: Hashable, Sendable {
    /// Rasters with heights; neighbours on one grid are one model.
    package var models: [String]
    /// What is said of single models, by their index in ``models``.
    package var settings: [Int: SourceSettings]
    /// Units of height between contours.
    package var interval: Double
    /// Every so many contours one is an index contour.
    package var indexEvery: Int

    /// Contours of elevation models, `interval` metres apart; every `indexEvery`th is an index contour.
    package init(models: [String], settings: [Int: SourceSettings] = [:], interval: Double, indexEvery: Int = 5) {
      (self.models, self.settings, self.interval, self.indexEvery) = (models, settings, interval, indexEvery)
    }
  }

  /// What is drawn.
  package var data: Data
  /// In drawing order.
  package var rules: [StyleRule]
  /// Files with icons, by the names that the rules use.
  package var images: [String: String]

  /// A layer; later rules are drawn over earlier ones.
  package init(_ data: Data, rules: [StyleRule], images: [String: String] = [:]) {
    (self.data, self.rules, self.images) = (data, rules, images)
  }

  /// The files that are read.
  package var files: [String] {
    let icons = images.sorted { $0.key < $1.key }.map(\.value)
    return switch data {
    case .file(let file): [file] + icons
    case .contours(let contours): contours.models + icons
    case .graticule: icons
    }
  }

  /// The layer with other names of its files.
  package func renamingFiles(_ name: (String) -> String) -> VectorLayer {
    var layer = self
    layer.images = images.mapValues(name)
    switch data {
    case .file(let file): layer.data = .file(name(file))
    case .contours(var contours):
      contours.models = contours.models.map(name)
      layer.data = .contours(contours)
    case .graticule: break
    }
    return layer
  }

  /// How contours are drawn unless a style says otherwise: thin brown lines, wider index contours with their heights.
  package static let contourStyle = """
    [{"type": "line", "filter": ["!", ["get", "index"]], "layout": {"line-join": "round"},
      "paint": {"line-color": "#7a4a1e", "line-opacity": 0.45, "line-width": 0.6}},
    {"type": "line", "filter": ["get", "index"], "layout": {"line-join": "round"},
      "paint": {"line-color": "#7a4a1e", "line-opacity": 0.7, "line-width": 1.1}},
    {"type": "symbol", "filter": ["get", "index"],
      "layout": {"symbol-placement": "line", "symbol-spacing": 400, "text-field": "{ele}", "text-size": 10,
        "text-max-angle": 25, "text-padding": 4},
      "paint": {"text-color": "#6b3f16", "text-halo-color": "rgba(255, 255, 255, 0.75)", "text-halo-width": 1.3}}]
    """

  /// How a graticule is drawn unless a style says otherwise.
  package static let graticuleStyle = """
    [{"type": "line", "filter": ["==", ["geometry-type"], "LineString"],
      "paint": {"line-color": "#1b3a57", "line-opacity": 0.4, "line-width": 0.7}},
    {"type": "symbol", "filter": ["==", ["geometry-type"], "Point"],
      "layout": {"text-field": "{label}", "text-size": 10, "text-anchor": ["get", "edge"],
        "text-offset": ["match", ["get", "edge"], "top", ["literal", [0, 0.3]], "bottom", ["literal", [0, -0.3]],
          "left", ["literal", [0.3, 0]], ["literal", [-0.3, 0]]]},
      "paint": {"text-color": "#1b3a57", "text-halo-color": "rgba(255, 255, 255, 0.85)", "text-halo-width": 1.3}}]
    """
}
