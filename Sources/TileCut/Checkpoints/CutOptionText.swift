import RegionCatalog
import Support
import TileImage
import TileIndex

/// The members of ``CutOptions`` as options of `tilecut cut`, for messages.
enum CutOptionText {
  /// The option that sets a member; several where it takes more than one.
  static func flag(_ member: String) -> String {
    switch member {
    case "sourceSettings": "what --crop, --cutline, --crs, --nodata, --bands or --alpha says of one source"
    case "drawing": "the style of the layers"
    case "matrixSet": "--matrix"
    case "isFlat": "--flat"
    case "encoding": "--format with its options"
    case "isLinear": "--linear"
    case "places": "--gazetteer"
    case "boundary": "the manifest's boundary"
    case "clip": "--clip"
    case "extraMetadata": "the manifest"
    default: "--" + Spelling.option(member)
    }
  }

  /// A value as one types it; nil for what has no short form.
  static func typed(_ value: Any) -> String? {
    let mirror = Mirror(reflecting: value)
    if mirror.displayStyle == .optional { return mirror.children.first.map { typed($0.value) } ?? "not given" }
    switch value {
    case let text as String: return text.utf8.count <= 80 ? text : nil
    case let number as Int: return String(number)
    case let flag as Bool: return flag ? "given" : "not given"
    case let numbers as [Double]: return numbers.map(DecimalText.text).joined(separator: ",")
    case let numbers as [Int]: return numbers.map(String.init).joined(separator: ",")
    case let set as TileMatrixSet: return set.identifier
    case let zoom as ZoomSelection: return self.zoom(zoom)
    case let box as BoundingBox:
      return [box.west, box.south, box.east, box.north].map(DecimalText.text).joined(separator: ",")
    case let resampling as Resampling: return resampling.rawValue
    case let kind as BundleMetadata.Kind: return kind.rawValue
    case let scheme as TileScheme: return scheme.rawValue
    case let encoding as TileEncoding: return encoding.optionText
    case let scale as SampleRange:
      guard case .values(let low, let high) = scale else { return SampleRange.autoWord }
      return "\(DecimalText.text(low)),\(DecimalText.text(high))"
    case let alpha as AlphaBand: return alpha.text
    default: return nil
    }
  }

  private static func zoom(_ zoom: ZoomSelection) -> String {
    switch zoom {
    case .native: "not given"
    case .levels(let levels) where levels.count == 1: String(levels.lowerBound)
    case .levels(let levels): "\(levels.lowerBound)-\(levels.upperBound)"
    }
  }
}
