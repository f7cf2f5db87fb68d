/// A layer of lines, areas and points, drawn over the pictures at every zoom.
public struct VectorLayer: Hashable, Sendable {
  /// Where the features come from.
  public enum Data: Hashable, Sendable {
    /// A GeoJSON or GPX file.
    case file(String)
    /// Lines of equal height of elevation models.
    case contours(Contours)
  }

  /// The contours of elevation models.
  public struct Contours: Hashable, Sendable {
    /// Rasters with heights; neighbours on one grid are one model.
    public var models: [String]
    /// What is said of single models, by their index in ``models``.
    public var settings: [Int: SourceSettings]
    /// Units of height between contours.
    public var interval: Double
    /// Every so many contours one is an index contour.
    public var indexEvery: Int

    /// Contours of elevation models, `interval` metres apart; every `indexEvery`th is an index contour.
    public init(models: [String], settings: [Int: SourceSettings] = [:], interval: Double, indexEvery: Int = 5) {
      (self.models, self.settings, self.interval, self.indexEvery) = (models, settings, interval, indexEvery)
    }
  }

  /// What is drawn.
  public var data: Data
  /// In drawing order.
  public var rules: [StyleRule]

  /// A layer; later rules are drawn over earlier ones.
  public init(_ data: Data, rules: [StyleRule]) { (self.data, self.rules) = (data, rules) }

  /// The files that are read.
  public var files: [String] {
    switch data {
    case .file(let file): [file]
    case .contours(let contours): contours.models
    }
  }

  /// The layer with other names of its files.
  public func renamingFiles(_ name: (String) -> String) -> VectorLayer {
    switch data {
    case .file(let file): return VectorLayer(.file(name(file)), rules: rules)
    case .contours(var contours):
      contours.models = contours.models.map(name)
      return VectorLayer(.contours(contours), rules: rules)
    }
  }

  /// How contours are drawn unless a style says otherwise: thin brown lines, wider index contours.
  package static let contourStyle = """
    [{"type": "line", "filter": ["!", ["get", "index"]], "layout": {"line-join": "round"},
      "paint": {"line-color": "#7a4a1e", "line-opacity": 0.45, "line-width": 0.6}},
    {"type": "line", "filter": ["get", "index"], "layout": {"line-join": "round"},
      "paint": {"line-color": "#7a4a1e", "line-opacity": 0.7, "line-width": 1.1}}]
    """
}
