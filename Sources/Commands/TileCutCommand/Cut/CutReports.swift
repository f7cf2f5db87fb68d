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

  /// Of more sources the list says nothing that a reader looks for.
  private static let sourcesShown = 20

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
    let more = sources.count - Self.sourcesShown
    return planText.split(separator: "\n").map(String.init) + [about, added].compactMap(\.self)
      + sources.prefix(Self.sourcesShown).map(\.description)
      + (more > 0 ? ["and \(counted(more, "more source")); --json lists all"] : [])
  }
}

extension ProgressPrinter {
  func show(_ step: CutProgress) {
    show(WorkProgress(step)) {
      "\($0.done) of \(step.tilesTotal) tiles, \(Int($0.pace.perSecond)) tiles/s, "
        + "\(formatted(bytes: step.bytesStored))\($0.pace.leftText)"
    }
  }
}

extension WorkProgress {
  init(_ step: CutProgress, more: [JSONValue.Member] = []) {
    self.init(
      done: step.tilesDone, of: step.tilesTotal, unit: "tiles", seconds: step.seconds,
      fraction: step.tilesTotal > 0 ? nil : 1,
      more: more + [
        .init("tilesStored", .number(step.tilesStored)), .init("bytesStored", .number(step.bytesStored)),
      ])
  }
}
