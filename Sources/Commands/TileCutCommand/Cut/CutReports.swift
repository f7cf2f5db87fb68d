import CommandSupport
import Support
import TileCut
import TileIndex

/// What `--dry-run` prints.
struct DryRunReport: Encodable {
  struct Zoom: Encodable {
    let zoom: Int
    /// Tiles that may have a visible pixel.
    let tilesMax: Int
  }

  let tileMatrixSet: String
  let zooms: [Zoom]
  let workingZoom: Int
  let tilesMax: Int
  let estimate: CutEstimate?
  /// With `--append`, in place of the estimate.
  let addition: BundleAppend.Estimate?
  let sources: [SourceDescription]
  private let planText: String

  private enum CodingKeys: CodingKey { case tileMatrixSet, zooms, workingZoom, tilesMax, estimate, addition, sources }

  init(_ cutter: Cutter, estimate: CutEstimate?, addition: BundleAppend.Estimate?) {
    let plan = cutter.plan
    tileMatrixSet = plan.matrixSet.identifier
    zooms = plan.zooms.map { Zoom(zoom: $0, tilesMax: plan.tileCountMax(zoom: $0)) }
    (workingZoom, tilesMax) = (plan.workingZoom, plan.tileCountMax)
    (self.estimate, self.addition) = (estimate, addition)
    (sources, planText) = (cutter.sourceDescriptions, plan.description)
  }

  var lines: [String] {
    let about = estimate.map {
      "  about \(counted($0.tiles, "tile")), \(formatted(bytes: $0.bytes)), \(formatted(seconds: $0.seconds))"
        + " (from a sample of \($0.sampledTiles))"
    }
    let added = addition.map { addition in
      let growth = addition.bytes < 0 ? "fewer" : "more"
      return "  about \(counted(addition.tiles, "tile")), \(addition.newTiles) of them new, "
        + "\(formatted(bytes: abs(addition.bytes))) \(growth), \(formatted(seconds: addition.seconds))"
        + " (from a sample of \(addition.sampledTiles))"
    }
    return planText.split(separator: "\n").map(String.init) + [about, added].compactMap(\.self)
      + sources.map(\.description)
  }
}

extension ProgressPrinter {
  func show(_ step: CutProgress) {
    show(seconds: step.seconds, fraction: step.fraction, text: step.text, json: step.json)
  }
}

extension CutProgress {
  fileprivate var fraction: Double { tilesTotal > 0 ? Double(tilesDone) / Double(tilesTotal) : 1 }

  fileprivate var text: String {
    let left = secondsLeft.map { ", \(formatted(seconds: $0)) left" } ?? ""
    return "\(tilesDone) of \(tilesTotal) tiles, \(Int(tilesPerSecond)) tiles/s, "
      + "\(formatted(bytes: bytesStored))\(left)"
  }

  fileprivate var json: String {
    func rounded(_ value: Double) -> String { DecimalText.fixed(value, 3) }
    let left = secondsLeft.map(rounded) ?? "null"
    return "{\"tilesDone\":\(tilesDone),\"tilesTotal\":\(tilesTotal),"
      + "\"tilesStored\":\(tilesStored),\"bytesStored\":\(bytesStored),"
      + "\"seconds\":\(rounded(seconds)),\"tilesPerSecond\":\(rounded(tilesPerSecond)),"
      + "\"secondsLeft\":\(left)}"
  }
}
