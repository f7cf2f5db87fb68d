import RegionCatalog

/// The labels of a layer that a map lacks, or shows in part.
package struct LabelLosses: Sendable {
  package struct Group: Sendable {
    package var count = 0
    /// The beginning of the first one's text.
    package fileprivate(set) var first = ""
  }

  /// The longest text of a label, in bytes of UTF-8.
  package static var textBytesMax: Int { SymbolStyle.textBytesMax }

  /// The layer's number.
  package let layer: Int
  /// All labels that belong on the map, at any zoom.
  package fileprivate(set) var total = 0
  /// Those without room at any zoom, or with room for their icon alone. Lines of one name need one label.
  package fileprivate(set) var dropped = Group()
  /// Those of which only the beginning is shown.
  package fileprivate(set) var cut = Group()
}

/// What became of each feature's label, over all zooms that a map shows.
struct LabelTally: Sendable {
  private enum Fate: UInt8 { case unwanted, dropped, shown }

  /// Of each feature, by the rule's number among all rules of all layers.
  private var fates: [Int: [Fate]] = [:]
  /// The features with texts that are too long, by the rule's number.
  private var cut: [Int: Set<Int>] = [:]

  mutating func add(_ placement: LabelPlacer.Placement) {
    for (key, hasPlace) in placement.outcomes {
      let fate = hasPlace ? Fate.shown : .dropped
      var known = fates.removeValue(forKey: key.rule) ?? []
      if known.count <= key.feature {
        known += repeatElement(.unwanted, count: key.feature + 1 - known.count)
      }
      // A label that the map has at one zoom is not lost at another.
      if fate.rawValue > known[key.feature].rawValue { known[key.feature] = fate }
      fates[key.rule] = known
    }
    for key in placement.cut { cut[key.rule, default: []].insert(key.feature) }
  }

  /// - Parameter layers: all of the map. Those that are made for each zoom have other features at each.
  func losses(of layers: [VectorMap.Layer]) -> [LabelLosses] {
    var all: [LabelLosses] = []
    var number = 0
    for (layerNumber, layer) in layers.enumerated() {
      var losses = LabelLosses(layer: layerNumber)
      for rule in layer.rules {
        defer { number += 1 }
        guard case .features(let features) = layer.source else { continue }
        func add(_ feature: Int, to group: inout LabelLosses.Group) {
          if group.count == 0 { group.first = Self.beginning(rule, features[feature]) }
          group.count += 1
        }
        for (feature, fate) in (fates[number] ?? []).enumerated() where fate != .unwanted {
          losses.total += 1
          if fate == .dropped { add(feature, to: &losses.dropped) }
        }
        for feature in (cut[number] ?? []).sorted() { add(feature, to: &losses.cut) }
      }
      if losses.dropped.count + losses.cut.count > 0 { all.append(losses) }
    }
    return all
  }

  private static let lettersMax = 40

  /// What a warning says of a text.
  private static func beginning(_ rule: StyleRule, _ feature: MapFeature) -> String {
    let text = rule.text("text-field", zoom: 0, feature) ?? rule.text("icon-image", zoom: 0, feature) ?? ""
    // Of scalars: a letter may have any number of accents.
    let scalars = text.unicodeScalars.prefix(lettersMax + 1)
    let line = String(String.UnicodeScalarView(scalars.prefix(lettersMax))).map { $0.isNewline ? " " : $0 }
    return String(line) + (scalars.count > lettersMax ? "…" : "")
  }
}
