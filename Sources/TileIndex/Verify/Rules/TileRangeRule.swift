/// MBTiles 1.3, "Tiles": rows are those of TMS, from the south, within the grid.
struct TileRangeRule: BundleRule {
  static let rule = VerificationRule(
    "tile-range", .must, "every tile lies in its grid: 0 <= column, row < 2^zoom in Web Mercator")
  private let matrixSet: TileMatrixSet

  init(_ bundle: VerifiedBundle) { matrixSet = bundle.matrixSet }

  mutating func visit(_ tile: VisitedTile, _ findings: inout Findings) throws {
    guard tile.tile == nil, tile.row.isInteger else { return }
    findings.error(
      "\(tile.numbers) lies outside \(matrixSet.identifier)", remedy: "delete the row, no reader can show it")
  }
}
